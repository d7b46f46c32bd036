"""OpenCode: a plugin in TypeScript (`plugins/opencode.ts`) asks with an event of our own form.

The plugin throws where this says deny. Source: opencode.ai/docs/plugins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxmode.hosts.hooks.calls import Ruling, ToolCall
from ctxmode.hosts.hooks.tool_names import tool_call
from ctxmode.hosts.hooks.unasked import refuse

FOLDER_VARIABLES: tuple[str, ...] = ()
PRE_TOOL = ("tool.execute.before",)
SESSION_START: tuple[str, ...] = ()


def call(event: Mapping[str, Any]) -> ToolCall | None:
    return tool_call(event["tool"], event.get("args"), event.get("cwd"))


def answer(ruling: Ruling, event_name: str) -> Mapping[str, Any] | None:
    del event_name
    said = refuse(ruling)
    return {"decision": "deny", "reason": said.text} if said.kind == "deny" else None


def opening(text: str) -> Mapping[str, Any]:
    return {"context": text}
