"""Records that are read out of the store. Times are seconds since the epoch, None if unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memory.errors import MemoryRoomError

Status = Literal["active", "paused", "completed", "archived"]
STATUSES: tuple[Status, ...] = ("active", "paused", "completed", "archived")

TOKENS_BY = ("model", "day", "agent", "session")
PAUSED_AFTER_S = 30 * 60.0
COMPLETED_AFTER_S = 24 * 3600.0


class UnknownSessionError(MemoryRoomError):
    """No session has this id, or several begin with it."""


@dataclass(frozen=True, slots=True)
class Session:
    """A session. Token counts are None where the host records none."""

    id: str  # `AGENT:HOST_ID`
    agent: str
    host_id: str
    owner: str
    parent_id: str
    relation: str  # how it comes from `parent_id`: subagent, fork or continued
    title: str
    agent_version: str
    source_path: str
    working_directory: str
    project_name: str
    git_branch: str
    status: Status
    messages: int
    tool_calls: int
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None
    compactions: int
    summary: str
    metadata: Mapping[str, Any]
    started_at: float | None
    last_at: float | None
    ended_at: float | None
    end_reason: str
    pinned: bool
    turns: int
    files: Mapping[str, tuple[str, ...]]  # paths by what was done: modified, created, deleted


@dataclass(frozen=True, slots=True)
class Message:
    """A step of a message."""

    sequence: int
    step: int
    turn: int
    role: str
    at: float | None
    content: str | None  # None where texts are not kept
    content_bytes: int  # the length of all of it
    is_cut: bool  # whether what is kept is not all
    tool_name: str | None
    tool_params: Any  # None where texts are not kept
    exit_code: int | None
    is_error: bool
    subagent: str | None
    skill: str | None
    model: str | None
    images: int
    thinking_bytes: int
    output_id: str | None
    is_compaction: bool
    compaction_summary: str | None
    compaction_trigger: str | None
    tokens_before: int | None
    tokens_after: int | None


ToolCount = tuple[str, str, Sequence[int]]
"""A session, a tool, and the numbers of its calls there: calls, errors, responses that have such
calls and record their output tokens, and those tokens together."""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens of the responses of one session, model and day (UTC); None where none of them records
    it. An unknown model or day is empty, as is the session where all are summed."""

    session_id: str
    agent: str
    model: str
    day: str
    responses: int
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    reasoning: int | None


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """One transcript, and how far it is read, in bytes."""

    agent: str
    path: str
    size: int
    read: int
    messages: int
    bad_lines: int
    elsewhere: bool
    problem: str
    seen_at: float
    is_undecided: bool = False


def compute_status(
    set_by_hand: str,
    *,
    has_summary: bool,
    last_at: float | None,
    ended_at: float | None,
    now: float,
) -> Status:
    """Compute a session's status: what a person set, else completed at its end or after 24 hours of
    silence, which is archived where it has a summary, paused after 30 minutes, else active.

    Activity after any of these makes it active again; a person's word, and that it is archived with
    its summary, is taken back by the writer.
    """
    for status in STATUSES:
        if set_by_hand == status:
            return status
    silence_s = now - (last_at or 0.0)
    is_over = ended_at is not None and ended_at >= (last_at or 0.0)
    if is_over or silence_s >= COMPLETED_AFTER_S:
        return "archived" if has_summary else "completed"
    return "paused" if silence_s >= PAUSED_AFTER_S else "active"
