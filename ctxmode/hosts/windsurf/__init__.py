"""Windsurf: its events, and its names elsewhere."""

FOLDER_VARIABLES: tuple[str, ...] = ()
EVENTS = {
    "pre_run_command": "judge",
    "pre_read_code": "judge",
    "pre_write_code": "judge",
    "pre_mcp_tool_use": "judge",
    "pre_user_prompt": "asked",
    "post_cascade_response": "answered",
}
