"""Cursor: its events, and its names elsewhere."""

AGENT = "cursor"
CLIENT = ("cursor",)
TRAITS = ("recorded_by_hooks", "announces_compaction", "always_answers")
FOLDER_VARIABLES = ("CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
EVENTS = {
    "preToolUse": "judge",
    "beforeShellExecution": "judge",
    "beforeReadFile": "judge",
    "beforeMCPExecution": "judge",
    "sessionStart": "open",
    "beforeSubmitPrompt": "prompt",
    "afterAgentResponse": "answered",
    "stop": "turn",
    "preCompact": "compact",
    "postToolUse": "act",
    "postToolUseFailure": "act",
    "sessionEnd": "end",
}
