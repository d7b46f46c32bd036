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
    """The beginning of a session, or a return to it: the records after it are of this one.

    Of all but the ids an empty field changes nothing, and a later one replaces an earlier; of the
    working directory and the start the first stays.
    """

    id: str  # the host's own
    parent_id: str = ""  # the host's own
    relation: Relation = ""
    title: str = ""
    agent_version: str = ""
    working_directory: str = ""
    git_branch: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    end_reason: str = ""
    metadata: Mapping[str, Any] = NOTHING
    agent: str = ""  # who wrote the session, where the form itself says so
    last_at: float | None = None  # its last activity, where its messages have no times


class MessageRecord(NamedTuple):
    """A step of a message.

    Attributes:
        files: paths that the host says a call changed, in place of what its arguments tell: with
            the call, or with its result where it says so only then; none of one that failed.
    """

    key: str  # tells it from all others of its session, so that reading twice changes nothing
    group: str  # steps of one, such as a response's text and tool calls, share a sequence number
    role: Role
    text: str = ""
    at: float | None = None
    is_prompt: bool = False  # what a person typed, and nothing that a host puts into their mouth
    tool: str = ""
    params: Any = None
    call_id: str = ""  # the same of a tool call and its result
    failed: bool = False  # from the host's own fields, never from the text
    exit_code: int | None = None  # from the host's own fields, never from the text
    is_denied: bool = False  # whether a rule or a person refused the call
    files: tuple[tuple[str, FileAction], ...] = ()
    subagent: str = ""
    skill: str = ""
    model: str = ""
    images: int = 0  # how many pictures
    thinking_bytes: int = 0  # of what is not kept
    replaces: bool = False  # whether it stands in place of an earlier one of this key
    full_bytes: int = 0  # the length of all of the text, where the transcript has only a part


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
    """Tokens of one response; of several records of one response the largest output counts. None is
    not recorded."""

    response_id: str
    model: str = ""
    at: float | None = None
    input: int | None = None  # neither read from nor written to a cache
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    group: str = ""  # that of the message that it is of


class CutRecord(str):
    """The group of a message to which a person took the session back: that message and all after
    it are gone."""

    __slots__ = ()


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
