"""OpenCode: its events, and its names elsewhere."""

AGENT = "opencode"
CLIENT = ("opencode",)
FOLDER_VARIABLES: tuple[str, ...] = ()
EVENTS = {
    "tool.execute.before": "judge",
    "experimental.session.compacting": "compact",
    "session.compacted": "prompt",
    "session.idle": "answered",
}
