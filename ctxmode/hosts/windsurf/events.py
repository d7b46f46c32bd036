"""Windsurf: Cascade's hooks of `hooks.json`, one event for each kind of tool.

Source: docs.windsurf.com/windsurf/cascade/hooks. Exit code 2 refuses, with stderr for the agent.
Hooks run in the workspace's folder, which events do not contain.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.hooks.hook_types import ToolCall, add_as_text, answer_by_code
from ctxmode.hosts.hooks.tool_names import tool_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOOLS = {"pre_run_command": "run_command", "pre_read_code": "read", "pre_write_code": "write"}


def call(event: Mapping[str, Any]) -> ToolCall | None:
    action, given = event["agent_action_name"], event["tool_info"]
    if action == "pre_mcp_tool_use":
        name = f"mcp__{given['mcp_server_name']}__{given['mcp_tool_name']}"
        return tool_call(name, given.get("mcp_tool_arguments"), "")
    return tool_call(_TOOLS[action], given, given.get("cwd"))


answer_ruling = answer_by_code
add_context = add_as_text
