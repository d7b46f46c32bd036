"""Codex: `hooks.json`, in Claude Code's form but without `ask`, which becomes a refusal.

Source: developers.openai.com/codex/hooks. Codex 0.169 reports a command that starts a shell to
hooks, but not the text that it types into that shell later.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.claude_code import events as claude_code
from ctxmode.hosts.hooks.hook_types import Answer, Ruling, ToolCall, refuse
from ctxmode.hosts.hooks.tool_names import begins_prompt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

add_context = claude_code.add_context


def call(event: Mapping[str, Any]) -> ToolCall | None:
    found = claude_code.call(event)
    if found is None or found.kind != "command":
        return found
    return found._replace(is_typed_into=any(map(begins_prompt, found.values)))


def answer_ruling(ruling: Ruling, event_name: str) -> Answer:
    return claude_code.answer_ruling(refuse(ruling), event_name)
