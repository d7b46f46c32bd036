"""iFlow CLI, with events in Claude Code's form and tools named like Gemini CLI's.

Source: platform.iflow.cn/en/cli/examples/hooks. Exit code 2 refuses, with stderr for the agent. For
its other events no way to add a text or read an answer is documented.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.claude_code.events import call as call_of_claude_code
from ctxmode.hosts.hooks.hook_types import ToolCall, add_as_text, answer_by_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOOLS = {"multi_edit": "multiedit"}
answer_ruling = answer_by_code
add_context = add_as_text


def call(event: Mapping[str, Any]) -> ToolCall | None:
    name = event["tool_name"]
    return call_of_claude_code({**event, "tool_name": _TOOLS.get(name, name)})
