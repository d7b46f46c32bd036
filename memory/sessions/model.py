"""Records read from the store. Times are seconds since the epoch, None if unknown."""

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
    """Error: no session has this id, or several begin with it."""


@dataclass(frozen=True, slots=True)
class Session:
    """A session. Token counts are None if the host records none."""

    id: str  # `AGENT:HOST_ID`
    agent: str
    host_id: str
    owner: str
    parent_id: str
    relation: str  # relation to `parent_id`: subagent, fork or continued
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
    files: Mapping[str, tuple[str, ...]]  # paths by action: modified, created, deleted


@dataclass(frozen=True, slots=True)
class Message:
    """A step of a message."""

    sequence: int
    step: int
    turn: int
    role: str
    at: float | None
    content: str | None  # None if texts are not stored
    content_bytes: int  # length of the whole text
    is_cut: bool  # whether a part is missing
    tool_name: str | None
    tool_params: Any  # None if texts are not stored
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
"""A session, a tool, and the numbers of its calls there: calls, errors, responses with such calls
that record their output tokens, and the sum of those tokens."""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens of the responses of one session, model and day (UTC); None if none are recorded. An
    unknown model or day is empty; the session is empty in sums over all of them."""

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
    """One transcript, and how much of it is read, in bytes."""

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
    """Return a session's status: the user's, else completed when it ended or after 24 hours of
    silence (archived with a summary), paused after 30 minutes, else active. Later activity makes it
    active again; the writer removes a user's status and archived states."""
    for status in STATUSES:
        if set_by_hand == status:
            return status
    silence_s = now - (last_at or 0.0)
    is_over = ended_at is not None and ended_at >= (last_at or 0.0)
    if is_over or silence_s >= COMPLETED_AFTER_S:
        return "archived" if has_summary else "completed"
    return "paused" if silence_s >= PAUSED_AFTER_S else "active"
