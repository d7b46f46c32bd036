"""Kiro: hooks in files of `.kiro/hooks`, which all agents of a workspace share.

Source: kiro.dev/docs/cli/v3/hooks. Exit code 2 refuses, with stderr for the agent. A server's tool
is `@SERVER/TOOL`; a file is one of several operations of a call. The end of a turn tells no answer
in command line 3.0, and `assistant_response` in others.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.hooks.hook_types import Purpose, ToolCall, add_as_text, answer_by_code
from ctxmode.hosts.hooks.tool_names import tool_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER_VARIABLES: tuple[str, ...] = ()
EVENTS: Mapping[str, Purpose] = {
    "PreToolUse": "judge",
    "UserPromptSubmit": "asked",
    "Stop": "answered",
}


def call(event: Mapping[str, Any]) -> ToolCall | None:
    name = event["tool_name"]
    if name.startswith("@"):
        name = f"mcp__{name[1:].replace('/', '__')}"
    return tool_call(name, event.get("tool_input"), event.get("cwd"))


answer_ruling = answer_by_code
add_context = add_as_text
