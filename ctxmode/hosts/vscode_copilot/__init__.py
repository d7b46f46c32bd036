"""VS Code Copilot: its events, and its names elsewhere."""

AGENT = "copilot_cli"
CLIENT = ("copilot",)
TRAITS = ("announces_compaction",)
FOLDER_VARIABLES: tuple[str, ...] = ()
EVENTS = {
    "PreToolUse": "judge",
    "SessionStart": "open",
    # The command line has no event after a compaction; it accepts a text with the next prompt.
    "UserPromptSubmit": "prompt",
    "PreCompact": "compact",
    "SessionEnd": "end",
    "Stop": "answered",
}
