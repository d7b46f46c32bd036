"""Qoder CLI, with events in Claude Code's form.

Source: docs.qoder.com/cli/hooks-reference. Exit code 2 refuses, with stderr for the agent; the
output at the start of a session is added to its context.
"""

LIKE = "claude_code"
ANSWERS = {"answer_ruling": "answer_by_code", "add_context": "add_as_text"}
FOLDER_VARIABLES: tuple[str, ...] = ()
EVENTS = {
    "PreToolUse": "judge",
    "SessionStart": "open",
    "UserPromptSubmit": "asked",
    "Stop": "answered",
}
