"""Cline: its events, and its names elsewhere."""

FOLDER_VARIABLES: tuple[str, ...] = ()
EVENTS = {
    "PreToolUse": "judge",
    "UserPromptSubmit": "asked",  # of the extension; of the command line not with every prompt
    "TaskComplete": "answered",
}
