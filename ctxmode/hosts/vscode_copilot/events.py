"""VS Code Copilot and Copilot CLI: hooks in `.github/hooks/*.json`, which both read.

Sources: code.visualstudio.com/docs/copilot/customization/hooks;
docs.github.com/en/copilot/reference/copilot-cli-reference/cli-hooks-reference.

Their tools have other names, and some arguments are in camel case. For events in Pascal case the
command line sends the same as the editor, but reads the decision from the answer's top level.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.claude_code import events as claude_code
from ctxmode.hosts.hooks.hook_types import Answer, Ruling, ToolCall
from ctxmode.hosts.hooks.tool_names import is_known, server_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def call(event: Mapping[str, Any]) -> ToolCall | None:
    """Read the call. A server's tool is `SERVER-TOOL` in the command line; in the editor its name
    contains `mcp`."""
    name, given, cwd = event["tool_name"], event.get("tool_input"), event.get("cwd")
    found = claude_code.call(event)
    return found or (None if is_known(name) else server_tool(name, "-", given, cwd))


def answer_ruling(ruling: Ruling, event_name: str) -> Answer:
    """Return the answer in the editor's form; decisions also in the command line's form."""
    said = claude_code.answer_ruling(ruling, event_name)
    if not isinstance(said, Mapping) or ruling.kind == "advise":
        return said
    return {
        **said,
        "permissionDecision": ruling.kind,
        "permissionDecisionReason": ruling.text,
    }


def add_context(text: str, event_name: str) -> Mapping[str, Any]:
    """Return the text in both forms: the command line reads it from the top level."""
    return {**claude_code.add_context(text, event_name), "additionalContext": text}
