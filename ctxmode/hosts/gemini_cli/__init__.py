"""Gemini CLI: its events, and its names elsewhere."""

AGENT = "gemini"
CLIENT = ("gemini",)
TRAITS = ("compacts_when_resumed",)
FOLDER_VARIABLES = ("GEMINI_CWD", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
EVENTS = {
    "BeforeTool": "judge",
    "SessionStart": "open",
    # In 0.61.0, PreCompress comes before every model request; no event follows a compaction.
    "BeforeAgent": "prompt",
    "SessionEnd": "end",
    "AfterAgent": "answered",
}
