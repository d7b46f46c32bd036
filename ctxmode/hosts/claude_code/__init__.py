"""Claude Code: its events, and its names elsewhere."""

AGENT = "claude_code"
CLIENT = ("claude", "code")  # Claude Desktop, which calls itself claude-ai, writes no transcript
FOLDER_VARIABLES = ("CLAUDE_PROJECT_DIR",)
EVENTS = {
    "PreToolUse": "judge",
    "SessionStart": "open",
    "PreCompact": "compact",
    "SessionEnd": "end",
    "UserPromptSubmit": "asked",
    "Stop": "answered",
}
