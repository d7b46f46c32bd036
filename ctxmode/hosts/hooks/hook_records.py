"""Reads the events of Cursor's hooks as records of a session.

Fields by cursor.com/docs/hooks. A call is known by its `tool_use_id`, a prompt by its
`generation_id`, so that hooks that are registered twice count once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from memory.sessions import CompactionRecord, MessageRecord, Record, SessionRecord
from memory.sessions.importers import cursor, stranger

_DENIED = ("permission_denied", "denied", "rejected")


def list_records(
    event: Mapping[str, Any], event_name: str, session: str, folder: str, now: float
) -> list[Record]:
    """List what an event tells: the session, and what happened in it."""
    begin = SessionRecord(
        session,
        agent_version=stranger.first_text(event, "cursor_version"),
        working_directory=folder,
    )
    return [begin, *_READERS.get(event_name, _nothing)(event, now)]


def _prompt(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    own, _ = cursor.part_prompt(stranger.text(event.get("prompt")))
    key = f"prompt:{stranger.first_text(event, 'generation_id') or now}"
    kinds = (stranger.first_text(one, "type") for one in stranger.objects(event.get("attachments")))
    images = sum(kind == "image" for kind in kinds)
    if own or images:
        yield MessageRecord(key, key, "user", own, now, is_prompt=True, images=images)


def _call(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    tool, given = cursor.name_call(
        stranger.text(event.get("tool_name")), stranger.params(event.get("tool_input"))
    )
    if tool.startswith("MCP:"):
        tool = f"mcp__{tool.removeprefix('MCP:')}"
    if not tool:
        return
    call = f"call:{stranger.first_text(event, 'tool_use_id') or now}"
    model = stranger.text(event.get("model"))
    subagent = (
        stranger.first_text(stranger.fields(given), "subagent_type") if tool == "Task" else ""
    )
    yield MessageRecord(
        call, call, "tool_call", at=now, tool=tool, params=given, call_id=call, model=model,
        subagent=subagent,
    )  # fmt: skip
    said, exit_code = _read_output(event.get("tool_output"))
    problem = stranger.text(event.get("error_message"))
    is_denied = stranger.text(event.get("failure_type")) in _DENIED
    failed = event.get("hook_event_name") == "postToolUseFailure" or bool(problem)
    yield MessageRecord(
        f"{call}:result", f"{call}:result", "tool_result", problem or said, now, tool=tool,
        call_id=call, failed=(failed or bool(exit_code)) and not is_denied,
        exit_code=None if is_denied else exit_code, is_denied=is_denied,
    )  # fmt: skip


def _failure(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    return _call({**event, "hook_event_name": "postToolUseFailure"}, now)


def _read_output(output: object) -> tuple[str, int | None]:
    """Read the text and the exit code of a result: JSON as a text, of a shell with both."""
    given = stranger.params(output)
    if not isinstance(given, Mapping):
        return stranger.text(output), None
    ended = stranger.code(given.get("exitCode"))
    ended = stranger.code(given.get("exit_code")) if ended is None else ended
    streams = (stranger.first_text(given, name) for name in ("stdout", "output", "stderr", "error"))
    said = "\n".join(filter(None, streams))
    return said or stranger.text(output) or json.dumps(given, ensure_ascii=False), ended


def _compaction(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    tokens = event.get("context_tokens")
    before = tokens if isinstance(tokens, int) and 0 <= tokens < 1 << 40 else None
    key = stranger.first_text(event, "generation_id") or str(now)
    yield CompactionRecord(key, now, stranger.first_text(event, "trigger"), tokens_before=before)


def _nothing(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    yield from ()


_READERS = {
    "beforeSubmitPrompt": _prompt,
    "postToolUse": _call,
    "postToolUseFailure": _failure,
    "preCompact": _compaction,
}
