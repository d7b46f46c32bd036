"""Gemini CLI: hooks of `settings.json`. Source: geminicli.com/docs/hooks/reference."""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.hooks.hook_types import Answer, Ruling, ToolCall, refuse
from ctxmode.hosts.hooks.tool_names import tool_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def call(event: Mapping[str, Any]) -> ToolCall | None:
    """Read the call. A server's tool is `mcp_SERVER_TOOL`; `mcp_context` has both names."""
    name, of = event["tool_name"], event.get("mcp_context")
    if isinstance(of, Mapping):
        name = f"mcp__{of.get('server_name')}__{of.get('tool_name')}"
    return tool_call(name, event.get("tool_input"), event.get("cwd"))


def answer_ruling(ruling: Ruling, event_name: str) -> Answer:
    """Return a decision, but no advice: before a tool, Gemini CLI takes none."""
    del event_name
    if ruling.kind in ("deny", "ask"):
        return {"decision": "deny", "reason": refuse(ruling).text}
    return None


def add_context(text: str, event_name: str) -> Mapping[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event_name, "additionalContext": text}}
