"""Kiro: its events, and its names elsewhere."""

FOLDER_VARIABLES: tuple[str, ...] = ()
EVENTS = {
    "PreToolUse": "judge",
    "UserPromptSubmit": "asked",
    "Stop": "answered",
}
