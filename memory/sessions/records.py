"""Records that an importer finds in a transcript, in the order in which they stand there.

All text is a stranger's: importers pass it on as it is, and the store's gate cleans it. Records
are named tuples, since a hook makes them. Times are seconds since the epoch, None where the
transcript has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from base.named_tuples import NamedTuple

Role = Literal["user", "assistant", "system", "tool_call", "tool_result"]
Relation = Literal["", "subagent", "fork", "continued"]
FileAction = Literal["", "created", "modified", "deleted"]
TOKEN_KINDS = ("input", "output", "cache_read", "cache_write", "reasoning")
NOTHING: Mapping[str, Any] = MappingProxyType({})


class PlainKey(str):
    """A key as the store has it, in hexadecimal: that of a message which was exported. It is known
    again wherever it is imported."""

    __slots__ = ()


class SessionRecord(NamedTuple):
    """Begins a session, or returns to it: the records after it are of this one.

    `id` and `parent_id` are the host's own. Of the other fields an empty one changes nothing, and a
    later one replaces an earlier; of the working directory and the start the first stays. `agent`
    is who wrote the session, where the form itself says so. `last_at` is its last activity, where
    its messages have no times.
    """

    id: str
    parent_id: str = ""
    relation: Relation = ""
    title: str = ""
    agent_version: str = ""
    working_directory: str = ""
    git_branch: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    end_reason: str = ""
    metadata: Mapping[str, Any] = NOTHING
    agent: str = ""
    last_at: float | None = None


class MessageRecord(NamedTuple):
    """One step of a message.

    `key` tells it from all others of its session, so that reading twice changes nothing. Steps of
    one `group`, such as a response with text and tool calls, share a sequence number.
    `is_prompt` marks what a person typed, and nothing that a host puts into their mouth. A tool
    call and its result have one `call_id`. `failed` and `exit_code` come from the host's own
    fields, never from the text; `is_denied` says that a rule or a person refused the call.
    `files` are paths that the host says a call changed, in place of what its arguments tell: with
    the call, or with its result where it says so only then; of one that failed there are none.
    `images` counts pictures, `thinking_bytes` measures what is not kept. `replaces` says that it
    stands in place of an earlier one of this key. `full_bytes` is the length of all of the text,
    where the transcript itself has only a part of it.
    """

    key: str
    group: str
    role: Role
    text: str = ""
    at: float | None = None
    is_prompt: bool = False
    tool: str = ""
    params: Any = None
    call_id: str = ""
    failed: bool = False
    exit_code: int | None = None
    is_denied: bool = False
    files: tuple[tuple[str, FileAction], ...] = ()
    subagent: str = ""
    skill: str = ""
    model: str = ""
    images: int = 0
    thinking_bytes: int = 0
    replaces: bool = False
    full_bytes: int = 0


class CompactionRecord(NamedTuple):
    """The host replaced the conversation by a summary. Where summary and figures stand in records
    of their own, the second has the first's key: what it has fills what was missing."""

    key: str
    at: float | None = None
    trigger: str = ""
    summary: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None


class UsageRecord(NamedTuple):
    """Tokens of one response; of several records of one response the largest output counts.

    `group` is that of the message that it is of. `input` are tokens that were neither read from
    nor written to a cache. None is not recorded.
    """

    response_id: str
    model: str = ""
    at: float | None = None
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    group: str = ""


class CutRecord(NamedTuple):
    """A person took the session back: the message of this group and all after it are gone."""

    group: str


class TaskRecord(NamedTuple):
    """A task of the agent's list, by the id that the host gave it; of an empty text the earlier
    stays."""

    id: str
    text: str = ""
    is_open: bool = True


class OutcomeRecord(NamedTuple):
    """What an exported session has beside its messages: the status that a person set, its summary
    with what else was found, and its files by what was done to them. Of a session that has a
    summary already, status and summary stay."""

    status: str = ""
    summary: str = ""
    findings: Mapping[str, Any] = NOTHING
    files: tuple[tuple[str, FileAction], ...] = ()


Record = (
    SessionRecord
    | MessageRecord
    | CompactionRecord
    | UsageRecord
    | CutRecord
    | TaskRecord
    | OutcomeRecord
)
