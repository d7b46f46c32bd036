"""iFlow CLI: its events, and its names elsewhere."""

FOLDER_VARIABLES = ("IFLOW_CWD",)
EVENTS = {"PreToolUse": "judge"}
