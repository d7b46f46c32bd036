"""OpenCode: a TypeScript plugin (`plugin.ts`) sends events in our own form.

The plugin throws an error if the answer is deny. Source: opencode.ai/docs/plugins.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.hooks.hook_types import Answer, Ruling, ToolCall, refuse
from ctxmode.hosts.hooks.tool_names import is_known, server_tool, tool_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def call(event: Mapping[str, Any]) -> ToolCall | None:
    """Read the call. A server's tool is `SERVER_TOOL`."""
    name, given, cwd = event["tool"], event.get("args"), event.get("cwd")
    return tool_call(name, given, cwd) if is_known(name) else server_tool(name, "_", given, cwd)


def answer_ruling(ruling: Ruling, event_name: str) -> Answer:
    del event_name
    said = refuse(ruling)
    return {"decision": "deny", "reason": said.text} if said.kind == "deny" else None


def add_context(text: str, event_name: str) -> Mapping[str, Any]:
    del event_name
    return {"context": text}
