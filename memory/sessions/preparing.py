"""Preparation of transcript records for the store: cleaning, and building events.

All of this happens before a transaction begins, so that other writers do not wait for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any

from base.digests import blake2b
from base.named_tuples import NamedTuple
from memory.gate import Gate
from memory.sessions import events
from memory.sessions.cues import END_CHARS_READ
from memory.sessions.events import Event, ParseCall
from memory.sessions.records import (
    TOKEN_KINDS,
    CompactionRecord,
    MessageRecord,
    OutcomeRecord,
    Record,
    SessionRecord,
    TaskRecord,
    UsageRecord,
)

CONTENT_CHARS_MAX = 65_536
RESULT_CHARS_MAX = 8192
VALUE_CHARS_MAX = 4096
"""Characters examined in each text of a call's arguments if messages are not stored."""

CUT_CHARS = 64
"""Size of the mark at the place of an omitted part."""

NAME_CHARS_MAX = 200
FILES_MAX = 10_000
FINDINGS_MAX = 200
FINDINGS = ("decisions", "contacts", "learnings", "action_items")
METADATA_CHARS_MAX = 4096
KEY_BYTES = 16
TOKENS_MAX = 1 << 40
"""Maximum of a response's tokens: a larger count is ignored, so that sums stay numbers."""


class Prepared(NamedTuple):
    """A cleaned record. For a message: its text to store (None: no text), its length in bytes, its
    arguments as JSON, its events, and for a result the text of its error or commit. The events of a
    result are its files."""

    record: Record
    content: str | None = None
    content_bytes: int = 0
    params: str | None = None
    events: tuple[Event, ...] = ()
    is_task_list: bool = False
    head: str = ""
    commit: str = ""


class Preparer:
    """Preparer of records, with one gate and one reader of calls."""

    def __init__(self, gate: Gate, parse_call: ParseCall, *, keep_messages: bool = False) -> None:
        """Initialize with the gate and the reader; full texts are stored only with
        `keep_messages`."""
        self._gate = gate
        self._parse_call = parse_call
        self._keep_messages = keep_messages
        self._folder = ""
        self._value_chars = CONTENT_CHARS_MAX if keep_messages else VALUE_CHARS_MAX

    def prepare(self, record: Record) -> Prepared:
        """Clean one record and find its events."""
        if isinstance(record, MessageRecord):
            return self._message(record)
        clean = self._name
        if isinstance(record, SessionRecord):
            # Not cleaned: the following calls have paths within it.
            self._folder = record.working_directory or self._folder
            metadata = self._gate.clean_value(dict(record.metadata), NAME_CHARS_MAX)
            return Prepared(
                record._replace(
                    id=self._id(record.id),
                    parent_id=self._id(record.parent_id),
                    title=" ".join(clean(record.title).split()),
                    agent_version=clean(record.agent_version),
                    working_directory=self._path(record.working_directory),
                    git_branch=clean(record.git_branch),
                    end_reason=clean(record.end_reason),
                    metadata=metadata if len(json.dumps(metadata)) < METADATA_CHARS_MAX else {},
                )
            )
        if isinstance(record, UsageRecord):
            counts: dict[str, Any] = {kind: _bound(getattr(record, kind)) for kind in TOKEN_KINDS}
            return Prepared(record._replace(model=clean(record.model), **counts))
        if isinstance(record, CompactionRecord):
            summary = self._gate.clean_head(record.summary, CONTENT_CHARS_MAX)
            return Prepared(record._replace(trigger=clean(record.trigger), summary=summary))
        if isinstance(record, TaskRecord):
            text = self._gate.clean_head(record.text, VALUE_CHARS_MAX)
            key = key_of(record.id).hex() if record.id else ""
            task = events.task_event(key, text, is_open=record.is_open)
            return Prepared(record._replace(id="", text=text), events=(task,))
        return Prepared(self._outcome(record) if isinstance(record, OutcomeRecord) else record)

    def _outcome(self, record: OutcomeRecord) -> OutcomeRecord:
        def clean(text: object) -> str:
            return self._gate.clean_head(text, CONTENT_CHARS_MAX) if isinstance(text, str) else ""

        findings: dict[str, object] = {"details": clean(record.findings.get("details"))}
        for name in FINDINGS:
            items = record.findings.get(name)
            listed = items[:FINDINGS_MAX] if isinstance(items, list) else []
            findings[name] = [text for text in map(clean, listed) if text]
        files = tuple((self._path(path), action) for path, action in record.files[:FILES_MAX])
        return record._replace(summary=clean(record.summary), findings=findings, files=files)

    def _message(self, record: MessageRecord) -> Prepared:
        text = record.text
        size = max(len(text.encode("utf-8", "surrogatepass")), record.full_bytes)
        cleaned = record._replace(
            text="",
            params=None,
            files=(),
            tool=self._name(record.tool),
            subagent=self._name(record.subagent),
            skill=self._name(record.skill),
            model=self._name(record.model),
        )
        if record.role == "tool_call":
            return self._call(record, cleaned)
        if record.role == "tool_result":
            return self._result(record, cleaned, size)
        found: tuple[Event, ...] = ()
        content = None
        if record.is_prompt:
            # Events use the cleaned text: the other could contain a secret.
            content = self._gate.clean_head(text, CONTENT_CHARS_MAX)
            end = ""
            if len(text) > CONTENT_CHARS_MAX:
                end = self._gate.clean_ends(text, 2 * END_CHARS_READ)[-END_CHARS_READ:]
            found = tuple(events.of_prompt(content, end))
        elif self._keep_messages:
            content = self._gate.clean_head(text, CONTENT_CHARS_MAX)
        kept = content if self._keep_messages else None
        return Prepared(cleaned, kept, size, events=found)

    def _call(self, record: MessageRecord, cleaned: MessageRecord) -> Prepared:
        deed = self._parse_call(record.tool, record.params, self._folder)
        if deed is not None:
            kind, values, edits = deed
            clean = self._path if kind in ("read", "edit") else self._head
            deed = (kind, tuple(map(clean, values)), tuple(map(self._path, edits)))
        params = self._params(record.params)
        told = islice(record.files, events.EVENTS_OF_CALL_MAX)
        files = tuple((self._path(path), action) for path, action in told)
        found = events.of_call(cleaned._replace(params=params, files=files), deed)
        text = None
        if self._keep_messages:
            text = self._clean_json(json.dumps(params, ensure_ascii=False))
        return Prepared(
            cleaned,
            content_bytes=_size_call(record, text),
            params=None if record.params is None else text,
            events=tuple(found),
            is_task_list=events.is_task_list(cleaned.tool),
        )

    def _params(self, params: Any) -> Any:  # noqa: ANN401 - JSON
        """Clean a call's arguments: all if they are stored, or those that events use."""
        if not self._keep_messages and isinstance(params, Mapping):
            params = {name: one for name, one in params.items() if name in events.PARAMS_READ}
        return self._gate.clean_value(params, self._value_chars)

    def _result(self, record: MessageRecord, cleaned: MessageRecord, size: int) -> Prepared:
        head, commit = "", events.find_commit(record.text)
        # A text that was cut before is not cut again only to insert the mark.
        chars_max = RESULT_CHARS_MAX + (CUT_CHARS if record.full_bytes else 0)
        if commit:  # a private or secret text may look like one
            commit = events.find_commit(self._gate.clean_head(record.text, 4096))
        changed: tuple[Event, ...] = ()
        if record.failed or record.exit_code or record.is_denied:
            head = self._gate.clean_head(record.text, RESULT_CHARS_MAX)
        else:
            files = islice(record.files, events.EVENTS_OF_CALL_MAX)
            changed = tuple(events.of_files((self._path(path), action) for path, action in files))
        return Prepared(
            cleaned,
            self._gate.clean_ends(record.text, chars_max) if self._keep_messages else None,
            size,
            events=changed,
            head=head,
            commit=commit,
        )

    def _clean_json(self, text: str) -> str:
        """Clean the arguments also as one text; drop them if that breaks their form."""
        if (cleaned := self._gate.clean(text)) == text:
            return text
        try:
            json.loads(cleaned)
        except (ValueError, RecursionError):
            return "null"
        return cleaned

    def _name(self, text: str) -> str:
        return self._gate.clean_head(text, NAME_CHARS_MAX) if text else ""

    def _head(self, text: str) -> str:
        return self._gate.clean_head(text, VALUE_CHARS_MAX)

    def _path(self, text: str) -> str:
        return self._gate.clean_path(text, VALUE_CHARS_MAX)

    def _id(self, text: str) -> str:
        """Return a session's id, unchanged if it is short and plain, else its digest."""
        if not text:
            return ""
        is_plain = len(text) <= 128 and all(c.isalnum() or c in "-_./:" for c in text)
        if is_plain and text.isascii() and self._gate.clean(text) == text:
            return text
        return key_of(text).hex()


def _measure(params: Any) -> int:  # noqa: ANN401 - JSON
    """Return the length of arguments as JSON; 0 if they are nested too deeply."""
    try:
        return len(json.dumps(params, ensure_ascii=False))
    except RecursionError:
        return 0


def _size_call(record: MessageRecord, kept: str | None) -> int:
    """Measure a call's arguments; if they are missing, use the size given by an export."""
    if record.params is None:
        return record.full_bytes
    return _measure(record.params) if kept is None else len(kept)


def key_of(*parts: str) -> bytes:
    """Return the short digest that identifies an item which is not stored itself."""
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=KEY_BYTES).digest()


def _bound(tokens: int | None) -> int | None:
    return tokens if tokens is None or 0 <= tokens < TOKENS_MAX else None
