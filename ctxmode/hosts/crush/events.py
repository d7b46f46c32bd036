"""Crush: hooks of `crush.json`, with events in Claude Code's form and answers in its own form.

Source: the repository charmbracelet/crush, docs/hooks/README.md of August 2026. Without a decision,
it prompts the user as usual. Subagents' calls reach no hook. Only this event exists in every
version with hooks; an unknown event is a configuration error.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.hooks.hook_types import Answer, Ruling, ToolCall, refuse
from ctxmode.hosts.hooks.tool_names import server_tool, tool_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def call(event: Mapping[str, Any]) -> ToolCall | None:
    """Read the call. A server's tool is `mcp_SERVER_TOOL`."""
    name, given, cwd = event["tool_name"], event.get("tool_input"), event.get("cwd")
    if name.startswith("mcp_"):
        return server_tool(name.removeprefix("mcp_"), "_", given, cwd)
    return tool_call(name, given, cwd)


def answer_ruling(ruling: Ruling, event_name: str) -> Answer:
    del event_name
    said = refuse(ruling)
    if said.kind == "deny":
        return {"decision": "deny", "reason": said.text}
    return {"context": said.text} if said.kind == "advise" else None


def add_context(text: str, event_name: str) -> Answer:
    del event_name
    return {"context": text}
