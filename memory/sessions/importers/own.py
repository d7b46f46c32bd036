"""Own form: `messages.json` from `sessions export`, one JSON object per session.

It has a `format` and a `version`, the `session`, the `usage` of its responses, and its `messages`,
which are read one at a time. docs/sessions-data.md describes the fields.

Agents may also write it as lines while they work, one JSON object each. A line with `"type":
"session"` begins a session, or adds to it: `id`, `agent`, `title`, `working_directory` and the
other fields of an exported session. Every other line is a message, as in `messages.json`; the
minimum is `{"role": "user", "content": "…"}`. A message with an `id` is recognised when repeated.
`session` names the session of a message, if several are written at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from base.digests import blake2b
from memory.sessions.importers.importer import Ground, Importer, State, Transcript
from memory.sessions.importers.untrusted_json import (
    code,
    count,
    fields,
    first_text,
    listed,
    objects,
    params,
    parts_text,
    seconds,
    text,
)
from memory.sessions.importers.whole_json import RefusedError, read_members
from memory.sessions.preparing import FINDINGS
from memory.sessions.records import (
    CompactionRecord,
    FileAction,
    MessageRecord,
    OutcomeRecord,
    PlainKey,
    Record,
    Relation,
    Role,
    SessionRecord,
    UsageRecord,
)

FORMAT, VERSION = "context-mode-session", 1
ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool_call", "tool_result")
MEMBERS_MAX = 100
_RELATIONS: tuple[Relation, ...] = ("subagent", "fork", "continued")
_ACTIONS: tuple[FileAction, ...] = ("created", "modified", "deleted")
_SET_BY_HAND = ("active", "paused", "completed", "archived")
_KEY = re.compile(r"[0-9a-f]{32}")
_Counts = tuple[int | None, int | None, int | None, int | None, int | None]
_COUNTS = ("input", "output", "cache_read", "cache_write", "reasoning")


def read_export(path: str, state: State) -> Iterator[Record]:
    """Read an exported session."""
    head = _read_head(path)
    session = fields(head.get("session"))
    own = session_record(session)
    if own is None:
        raise RefusedError("its session has no id")
    yield own
    usage = head.get("usage")
    turn = 0
    for name, value, is_one in read_members(path, "messages"):
        if name != "messages" or not is_one:
            continue
        turn, is_prompt = _count_turn(value, turn)
        message = message_record(value, str(value.get("sequence")), is_prompt=is_prompt)
        if message is None:
            state["bad"] = state.get("bad", 0) + 1
            continue
        if message.at is None and own.last_at is not None:
            yield own  # its last activity, which the message does not have
        yield message
        if not isinstance(usage, list) and (tokens := tokens_of(value, message)):
            yield tokens
    for number, one in enumerate(objects(usage)):
        yield _usage(one, str(number))
    yield _outcome(session)


def _read_head(path: str) -> Mapping[str, Any]:
    """Read everything except the messages, wherever it is."""
    head: dict[str, Any] = {}
    for name, value, is_one in read_members(path, "messages"):
        if not is_one and len(head) < MEMBERS_MAX:
            head[name] = value
    if head.get("format") != FORMAT:
        raise RefusedError(f"its format is not {FORMAT}")
    if head.get("version") != VERSION:
        raise RefusedError("it has an unknown version of another release")
    return head


def _count_turn(value: Mapping[str, Any], turn: int) -> tuple[int, bool | None]:
    """Return the number of the turn, and whether the message begins one, if known."""
    number = count(value.get("turn"))
    if number is None or value.get("role") != "user":
        return turn, None
    return max(turn, number), number > turn


def session_record(session: Mapping[str, Any]) -> SessionRecord | None:
    """Read the data of a session; None without an id."""
    agent = text(session.get("agent"))
    own = first_text(session, "host_id") or text(session.get("id")).removeprefix(f"{agent}:")
    if not own:
        return None
    relation: Relation = next((one for one in _RELATIONS if one == session.get("relation")), "")
    metadata = dict(fields(session.get("metadata")))
    metadata.pop("findings", None)
    return SessionRecord(
        own,
        text(session.get("parent_id")).removeprefix(f"{agent}:"),
        relation,
        title=text(session.get("title")),
        agent_version=text(session.get("agent_version")),
        working_directory=text(session.get("working_directory")),
        git_branch=text(session.get("git_branch")),
        started_at=seconds(session.get("started_at")),
        ended_at=seconds(session.get("ended_at")),
        end_reason=text(session.get("end_reason")),
        metadata=metadata,
        agent=agent,
        last_at=seconds(session.get("last_at")),
    )


def message_record(
    value: Mapping[str, Any], group: str, *, is_prompt: bool | None = None, key: str = ""
) -> MessageRecord | CompactionRecord | None:
    """Read one message; None if it is not a message. Without an id or a key it gets `key`, else its
    place."""
    role = next((one for one in ROLES if one == value.get("role")), None)
    if role is None:
        return None
    sequence = count(_first(value, "sequence", "message_sequence"))
    step = count(_first(value, "step", "stream_step")) or 0
    place = f"{sequence}.{step}" if sequence is not None else key
    own = _plain_key(value.get("key")) or first_text(value, "id") or place
    at = seconds(_first(value, "at", "created_at"))
    if _first(value, "is_compaction", "is_compaction_point") is True:
        return CompactionRecord(
            own,
            at,
            text(value.get("compaction_trigger")),
            text(value.get("compaction_summary")),
            count(_first(value, "tokens_before", "context_tokens_before")),
            count(value.get("tokens_after")),
        )
    said, error = _content(value, role), first_text(value, "error", "tool_error")
    is_denied = value.get("is_denied") is True
    if is_prompt is None:
        is_prompt = value.get("is_prompt") is not False
    return MessageRecord(
        own,
        _plain_key(value.get("group")) or (group if sequence is not None else own),
        role,
        said or error,
        at,
        is_prompt and role == "user",
        first_text(value, "tool_name"),
        params(value.get("tool_params")) if role == "tool_call" else None,
        _plain_key(value.get("call")) or first_text(value, "call_id"),
        (value.get("is_error") is True or bool(error)) and not is_denied,
        code(value.get("exit_code")),
        is_denied,
        subagent=first_text(value, "subagent", "subagent_name"),
        skill=first_text(value, "skill", "skill_name"),
        model=first_text(value, "model", "model_used"),
        images=count(value.get("images")) or 0,
        thinking_bytes=count(value.get("thinking_bytes")) or 0,
        full_bytes=count(value.get("content_bytes")) or 0,
    )


def _content(value: Mapping[str, Any], role: Role) -> str:
    content = value.get("content")
    if role == "tool_result" and content is None:
        content = value.get("tool_result")
        if content is not None and not isinstance(content, str | list):
            return json.dumps(content, ensure_ascii=False)
    return parts_text(content)


def tokens_of(
    value: Mapping[str, Any], message: MessageRecord | CompactionRecord
) -> UsageRecord | None:
    """Read the tokens recorded in a message; None if there are no counts."""
    counts = _counts(value, "_tokens")
    if isinstance(message, CompactionRecord) or all(one is None for one in counts):
        return None
    response = first_text(value, "response_id") or message.group
    return UsageRecord(response, message.model, message.at, *counts, message.group)


def _counts(value: Mapping[str, Any], suffix: str = "") -> _Counts:
    first, second, third, fourth, fifth = (count(value.get(name + suffix)) for name in _COUNTS)
    return first, second, third, fourth, fifth


def _usage(value: Mapping[str, Any], key: str) -> UsageRecord:
    return UsageRecord(
        _plain_key(value.get("key")) or key,
        text(value.get("model")),
        seconds(value.get("at")),
        *_counts(value),
        _plain_key(value.get("group")) or "",
    )


def _outcome(session: Mapping[str, Any]) -> OutcomeRecord:
    files = fields(session.get("files"))
    findings = fields(fields(session.get("metadata")).get("findings"))
    return OutcomeRecord(
        next((one for one in _SET_BY_HAND if one == session.get("status_by_hand")), ""),
        text(session.get("summary")),
        {name: findings.get(name) for name in ("details", *FINDINGS)},
        tuple(
            (path, action)
            for action in _ACTIONS
            for path in listed(files.get(action))
            if isinstance(path, str) and path
        ),
    )


def _plain_key(value: object) -> str:
    return PlainKey(value) if isinstance(value, str) and _KEY.fullmatch(value) else ""


def _first(value: Mapping[str, Any], *names: str) -> object:
    return next((value[name] for name in names if value.get(name) is not None), None)


def digest_value(value: object) -> str:
    """Return a digest that identifies a value."""
    data = json.dumps(value, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=8).hexdigest()


def never_found(ground: Ground) -> Iterator[Transcript]:
    """Find nothing: the user names such a file."""
    yield from ()


def no_roots(ground: Ground) -> Iterator[str]:
    """Watch nothing."""
    yield from ()


def parse_line(value: Mapping[str, Any], state: State) -> Iterator[Record]:
    """Read one line.

    Raises:
        ValueError: it is neither a session nor a message.
    """
    if value.get("type") == "session":
        session = session_record(value)
        if session is None:
            raise ValueError("a session without an id")
        state["of"] = session.id
        yield session
        return
    number = state["lines"] = state.get("lines", 0) + 1
    key = f"{text(state.get('run'))}{number}:{digest_value(value)}"
    message = message_record(value, f"{value.get('sequence')}", key=key)
    if message is None:
        raise ValueError("no message")
    if (of := text(value.get("session"))) and of != state.get("of"):
        state["of"] = of
        yield SessionRecord(of)
    yield message
    if tokens := tokens_of(value, message):
        yield tokens


IMPORTER = Importer("own", "An exported session", no_roots, never_found, read_file=read_export)
LINES = Importer("own", "Lines of messages", no_roots, never_found, parse_line)
