"""Factory Droid: its events, and its names elsewhere."""

FOLDER_VARIABLES = ("FACTORY_PROJECT_DIR",)
EVENTS = {
    "PreToolUse": "judge",
    "SessionStart": "open",
    "UserPromptSubmit": "asked",
    "Stop": "answered",
}
