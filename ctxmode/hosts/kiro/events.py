"""Kiro: hooks in files of `.kiro/hooks`, shared by all agents of a workspace.

Source: kiro.dev/docs/cli/v3/hooks. Exit code 2 refuses, with stderr for the agent. A server's tool
is `@SERVER/TOOL`; a call may have several operations, one per file. The event at the end of a turn
has no answer in command line 3.0, and `assistant_response` in other versions.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.hooks.hook_types import ToolCall, add_as_text, answer_by_code
from ctxmode.hosts.hooks.tool_names import tool_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def call(event: Mapping[str, Any]) -> ToolCall | None:
    name = event["tool_name"]
    if name.startswith("@"):
        name = f"mcp__{name[1:].replace('/', '__')}"
    return tool_call(name, event.get("tool_input"), event.get("cwd"))


answer_ruling = answer_by_code
add_context = add_as_text
