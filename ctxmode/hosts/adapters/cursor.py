"""Cursor: `hooks.json`. Source: cursor.com/docs/hooks.

Its older events name the tool in the event itself; a command or path stands at the top.

What happened is told by `postToolUse` and `postToolUseFailure`, with arguments and results of every
tool; `afterFileEdit` and `afterShellExecution` tell part of it again, and are not asked for. Of an
unknown name in the file Cursor takes none of its hooks; so only documented ones are registered. A
text is taken with `sessionStart` and `postToolUse` by the documents, and with `beforeSubmitPrompt`
by the list of such events in the command line's program.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.hooks.hook_types import Answer, Purpose, Ruling, ToolCall, read_json
from ctxmode.hosts.hooks.tool_names import tool_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER_VARIABLES = ("CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
EVENTS: Mapping[str, Purpose] = {
    "preToolUse": "judge",
    "beforeShellExecution": "judge",
    "beforeReadFile": "judge",
    "beforeMCPExecution": "judge",
    "sessionStart": "open",
    "beforeSubmitPrompt": "prompt",
    "afterAgentResponse": "answered",
    "stop": "turn",
    "preCompact": "compact",
    "postToolUse": "act",
    "postToolUseFailure": "act",
    "sessionEnd": "end",
}
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
    # Some versions send the arguments as the text of JSON.
    return tool_call(event["tool_name"], read_json(given) if isinstance(given, str) else given, cwd)


def answer_ruling(ruling: Ruling, event_name: str) -> Answer:
    """A permission event is answered with JSON in any case: no answer counts as a broken one."""
    if ruling.kind in ("deny", "ask"):
        texts = {"user_message": ruling.text, "agent_message": ruling.text}
        kind = "deny" if event_name == "beforeReadFile" else ruling.kind
        return {"permission": kind, **texts}
    return {"agent_message": ruling.text} if ruling.kind == "advise" else {}


def add_context(text: str, event_name: str) -> Mapping[str, Any]:
    del event_name
    return {"additional_context": text}
