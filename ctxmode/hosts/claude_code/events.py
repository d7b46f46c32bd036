"""Claude Code: hooks of `settings.json`. Source: code.claude.com/docs/en/hooks."""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.hooks.hook_types import Answer, Ruling, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def call(event: Mapping[str, Any]) -> ToolCall | None:
    """Read the call. Only events of subagents have `agent_id` or `agent_type`."""
    from ctxmode.hosts.hooks.tool_names import tool_call  # noqa: PLC0415 - only for calls

    is_subagent = bool(event.get("agent_id") or event.get("agent_type"))
    return tool_call(
        event["tool_name"],
        event.get("tool_input"),
        event.get("cwd"),
        has_our_tools=not is_subagent,
    )


def answer_ruling(ruling: Ruling, event_name: str) -> Answer:
    if ruling.kind == "advise":
        return _specific(event_name, additionalContext=ruling.text)
    if ruling.kind == "pass":
        return None
    return _specific(
        event_name, permissionDecision=ruling.kind, permissionDecisionReason=ruling.text
    )


def add_context(text: str, event_name: str) -> Mapping[str, Any]:
    return _specific(event_name, additionalContext=text)


def _specific(event_name: str, **fields: str) -> Mapping[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event_name, **fields}}
