"""Cursor: `hooks.json`. Source: cursor.com/docs/hooks.

Its older events name the tool by the event itself; the command or path is a top-level field.

`postToolUse` and `postToolUseFailure` report arguments and results of every tool. `afterFileEdit`
and `afterShellExecution` repeat part of this and are not registered. If the file has an unknown
event, Cursor ignores all its hooks; so only documented events are registered. A text is accepted by
`sessionStart` and `postToolUse` (documented), and by `beforeSubmitPrompt` (according to the list of
such events in the command line's program).
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.hooks.hook_types import Answer, Ruling, ToolCall, read_json
from ctxmode.hosts.hooks.tool_names import tool_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOOLS = {"beforeShellExecution": "Shell", "beforeReadFile": "Read"}


def call(event: Mapping[str, Any]) -> ToolCall | None:
    name = event.get("hook_event_name", "")
    roots = event.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    cwd = event.get("cwd") or first
    if tool := _TOOLS.get(name):
        return tool_call(tool, event, cwd)
    if name == "beforeMCPExecution":
        return tool_call(f"mcp:{event['tool_name']}", {}, cwd)
    given = event.get("tool_input")
    # Some versions send the arguments as JSON text.
    return tool_call(event["tool_name"], read_json(given) if isinstance(given, str) else given, cwd)


def answer_ruling(ruling: Ruling, event_name: str) -> Answer:
    """Answer always with JSON: Cursor treats a missing answer to a permission event as an error."""
    if ruling.kind in ("deny", "ask"):
        texts = {"user_message": ruling.text, "agent_message": ruling.text}
        kind = "deny" if event_name == "beforeReadFile" else ruling.kind
        return {"permission": kind, **texts}
    return {"agent_message": ruling.text} if ruling.kind == "advise" else {}


def add_context(text: str, event_name: str) -> Mapping[str, Any]:
    del event_name
    return {"additional_context": text}
