"""Gemini CLI: hooks of `settings.json`. Source: geminicli.com/docs/hooks/reference."""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.hooks.hook_types import Answer, Purpose, Ruling, ToolCall, refuse
from ctxmode.hosts.hooks.tool_names import tool_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER_VARIABLES = ("GEMINI_CWD", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
EVENTS: Mapping[str, Purpose] = {
    "BeforeTool": "judge",
    "SessionStart": "open",
    # PreCompress rings before every request of the model, and nothing after a compaction: 0.61.0.
    "BeforeAgent": "prompt",
    "SessionEnd": "end",
    "AfterAgent": "answered",
}


def call(event: Mapping[str, Any]) -> ToolCall | None:
    """A server's tool is `mcp_SERVER_TOOL`, and what it is made of stands beside it."""
    name, of = event["tool_name"], event.get("mcp_context")
    if isinstance(of, Mapping):
        name = f"mcp__{of.get('server_name')}__{of.get('tool_name')}"
    return tool_call(name, event.get("tool_input"), event.get("cwd"))


def answer_ruling(ruling: Ruling, event_name: str) -> Answer:
    """Before a tool there is no way to give advice without deciding, so it is left unsaid."""
    del event_name
    if ruling.kind in ("deny", "ask"):
        return {"decision": "deny", "reason": refuse(ruling).text}
    return None


def add_context(text: str, event_name: str) -> Mapping[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event_name, "additionalContext": text}}
