"""Records that an importer finds in a transcript, in their order.

All texts are untrusted: importers pass them on unchanged, and the store cleans them. Records are
named tuples, since a hook makes them. Times are seconds since the epoch, None if missing.
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
    """A key of the store, in hexadecimal: that of an exported message, which every import
    recognises."""

    __slots__ = ()


class SessionRecord(NamedTuple):
    """The beginning of a session, or a return to it: the following records belong to it. Except for
    the ids, an empty field changes nothing, and a later value replaces an earlier one; the working
    directory and the start keep their first value."""

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
    agent: str = ""  # author of the session, if the form itself names one
    last_at: float | None = None  # its last activity, if its messages have no times


class MessageRecord(NamedTuple):
    """A step of a message.

    Attributes:
        files: paths that the host reports as changed by a call, instead of those in its arguments:
            with the call, or with its result if reported only there; empty if the call failed.
    """

    key: str  # unique in its session, so that reading twice changes nothing
    group: str  # steps of one message, such as a response's text and calls, share a sequence number
    role: Role
    text: str = ""
    at: float | None = None
    is_prompt: bool = False  # typed by the user, without text that a host adds
    tool: str = ""
    params: Any = None
    call_id: str = ""  # the same for a tool call and its result
    failed: bool = False  # from the host's own fields, never from the text
    exit_code: int | None = None  # from the host's own fields, never from the text
    is_denied: bool = False  # whether a rule or the user refused the call
    files: tuple[tuple[str, FileAction], ...] = ()
    subagent: str = ""
    skill: str = ""
    model: str = ""
    images: int = 0  # number of pictures
    thinking_bytes: int = 0  # for data that is not stored
    replaces: bool = False  # whether it replaces an earlier one with this key
    full_bytes: int = 0  # length of the whole text, if the transcript has only a part


class CompactionRecord(NamedTuple):
    """A replacement of the conversation by the host's summary. If summary and figures are separate
    records, the second has the first's key and fills its missing fields."""

    key: str
    at: float | None = None
    trigger: str = ""
    summary: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None


class UsageRecord(NamedTuple):
    """Tokens of one response; of several records of one response, the largest output counts. None
    if unrecorded."""

    response_id: str
    model: str = ""
    at: float | None = None
    input: int | None = None  # neither read from a cache nor written to one
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    group: str = ""  # group of its message


class CutRecord(str):
    """The group of a message to which the user rewound the session: it and all later ones are
    deleted."""

    __slots__ = ()


class TaskRecord(NamedTuple):
    """A task of the agent's list, by the host's id of it; an empty text keeps the earlier one."""

    id: str
    text: str = ""
    is_open: bool = True


class OutcomeRecord(NamedTuple):
    """Data of an exported session besides its messages: the user's status, the summary with other
    findings, and the files by action. If a session already has a summary, status and summary are
    kept."""

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
