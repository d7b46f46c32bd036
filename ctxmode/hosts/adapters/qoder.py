"""Qoder CLI: hooks of `settings.json`, in the form of Claude Code's.

Source: docs.qoder.com/cli/hooks-reference. Exit code 2 refuses, with stderr for the agent; what is
printed when a session starts is put into its context.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.adapters import claude_code
from ctxmode.hosts.hooks.calls import Purpose, add_as_text, answer_by_code

FOLDER_VARIABLES: tuple[str, ...] = ()
EVENTS: Mapping[str, Purpose] = {
    "PreToolUse": "judge",
    "SessionStart": "open",
    "UserPromptSubmit": "asked",
    "Stop": "answered",
}
call = claude_code.call
answer = answer_by_code
add_context = add_as_text
