"""Factory's Droid: hooks of `settings.json`, in the form of Claude Code's.

Source: docs.factory.ai/reference/hooks-reference. Its events are in camel case, but for the tool
and its arguments; its shell is `Execute`. Advice is left unsaid: none is documented for this event.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.adapters import claude_code
from ctxmode.hosts.hooks.calls import Answer, Purpose, Ruling, add_as_text

FOLDER_VARIABLES = ("FACTORY_PROJECT_DIR",)
EVENTS: Mapping[str, Purpose] = {
    "PreToolUse": "judge",
    "SessionStart": "open",
    "UserPromptSubmit": "asked",
    "Stop": "answered",
}
call = claude_code.call
add_context = add_as_text


def answer(ruling: Ruling, event_name: str) -> Answer:
    return None if ruling.kind == "advise" else claude_code.answer(ruling, event_name)
