"""Factory's Droid, with events in Claude Code's form.

Source: docs.factory.ai/reference/hooks-reference. Its events are in camel case, except the tool and
its arguments; its shell is `Execute`. No advice is sent, since none is documented for this event.
"""

from __future__ import annotations

from ctxmode.hosts.claude_code import events as claude_code
from ctxmode.hosts.hooks.hook_types import Answer, Ruling, add_as_text

call = claude_code.call
add_context = add_as_text


def answer_ruling(ruling: Ruling, event_name: str) -> Answer:
    return None if ruling.kind == "advise" else claude_code.answer_ruling(ruling, event_name)
