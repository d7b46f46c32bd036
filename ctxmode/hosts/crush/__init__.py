"""Crush: its events, and its names elsewhere."""

FOLDER_VARIABLES = ("CRUSH_CWD", "CRUSH_PROJECT_DIR")
EVENTS = {"PreToolUse": "judge"}
