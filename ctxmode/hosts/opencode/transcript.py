"""OpenCode: one SQLite database of all projects, `$XDG_DATA_HOME/opencode/opencode.db`.

Seen with 1.18.33; releases with JSON files below `storage/` are not read; a later one moves those
into its database. A message has parts: texts, calls with their results, files. Its `summary` is a
compaction's, requested by the message before it. A task's agent has its own session, with a
`parent_id`. Rewinding deletes messages at the next prompt.

The task list is in the calls that write it; the table `todo` has the same. Parts of type `patch`
name files that changed during a step, without a certain call: they are not read.

Tokens: cached tokens are separate from the input. Reasoning is separate from the output, too, in
older releases within it; the record's own total shows which.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from typing import Any

from ctxmode.hosts.opencode.rows import (
    TABLES,
    HostDatabase,
    MessageRow,
    Rows,
    is_damage,
)
from memory.sessions.importers.importer import Ground, Importer, State, Transcript
from memory.sessions.importers.record_fields import call_record, result_record, usage_record
from memory.sessions.importers.untrusted_json import (
    code,
    count,
    fields,
    first_text,
    is_file,
    objects,
    scan,
    seconds,
    size,
    text,
)
from memory.sessions.importers.whole_json import load_json
from memory.sessions.records import (
    CompactionRecord,
    CutRecord,
    FileAction,
    MessageRecord,
    Record,
    SessionRecord,
)

_NAME = re.compile(r"opencode(?:-[\w.-]+)?\.db")
_DENIED = ("The user rejected permission", "The user has specified a rule which prevents")
_SUBAGENTS = {"task": ("subagent_type",)}
_SKILLS = {"skill": ("name",)}
_TOKENS = ("input", "output", "read", "write", "reasoning")
_ACTIONS: Mapping[str, FileAction] = {"add": "created", "delete": "deleted"}
MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


_Part = dict[str, Any]
"""A part of a message, with its id."""


def data_folder(ground: Ground) -> str:
    """Return the folder that holds the database."""
    base = ground.environ.get("XDG_DATA_HOME") or os.path.join(ground.home, ".local", "share")
    return ground.root or os.path.join(base, "opencode")


def find_databases(ground: Ground) -> Iterator[Transcript]:
    """Yield the database that the user named, or those of each release channel."""
    folder = data_folder(ground)
    named = ground.environ.get("OPENCODE_DB")
    if named:
        paths = [os.path.join(folder, named)]
    else:
        entries = scan(folder)
        paths = [one.path for one in entries if _NAME.fullmatch(one.name) and is_file(one)]
    for path in sorted(paths, key=lambda path: (len(path), path)):
        if os.path.isfile(path):
            yield Transcript(path, log=f"{path}-wal")


def read_sessions(
    path: str, state: State, wants: Callable[[SessionRecord], bool], only: str = ""
) -> Generator[Record | None, None, None]:
    """Read the new records of the wanted sessions, or of the only one."""
    damage: sqlite3.DatabaseError | None = None
    with closing(HostDatabase(path)) as db:
        db.require(TABLES)
        rows = Rows(db, state)
        is_first = True
        for row, session in rows.find_session(only) if only else rows.list_sessions():
            if not is_first:
                yield None
            is_first = False
            if not wants(session):
                continue
            yield session
            try:
                yield from _read_session(rows, row, session)
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                damage = error
    if damage is not None:
        raise damage


def _read_session(rows: Rows, row: int, session: SessionRecord) -> Iterator[Record | None]:
    mark = rows.mark(row)
    if removed := rows.find_removed(session, mark):
        yield CutRecord(removed)
        at = mark["prompts"].index(removed)
        mark["prompts"] = mark["prompts"][:at]
    for number, (message, data, parts) in enumerate(rows.read_session(session, mark)):
        if number:
            yield None
        try:
            records = list(_read_message(rows, session, message, data, parts))
        except MALFORMED:
            continue
        yield from records
        if any(isinstance(one, MessageRecord) and one.is_prompt for one in records):
            rows.note_prompt(mark, message[1])


def _read_message(
    rows: Rows,
    session: SessionRecord,
    message: MessageRow,
    data: object,
    listed_parts: list[tuple[str, object]],
) -> Iterator[Record]:
    _, own, created = message
    info = fields(load_json(text(data)))
    parts = [{**value, "id": id_} for id_, raw in listed_parts if (value := _load(raw))]
    at = seconds(fields(info.get("time")).get("created")) or seconds(created)
    if info.get("role") == "user":
        yield from _user(own, parts, at, is_person=not session.parent_id)
    elif info.get("role") == "assistant":
        yield from _assistant(own, info, parts, at)
        yield from _usage(own, info, parts, at)
        if info.get("summary") is True and info.get("finish") and not info.get("error"):
            asking = first_text(info, "parentID") or own
            asked = [dict(_load(raw)) for _, raw in rows.read_parts(asking)]
            yield _compaction(asking, info, parts, asked)


def _load(raw: object) -> Mapping[str, Any]:
    """Read a part's JSON; empty if it is invalid."""
    try:
        return fields(load_json(text(raw)))
    except ValueError:
        return {}


def _user(group: str, parts: list[_Part], at: float | None, *, is_person: bool) -> Iterator[Record]:
    texts = [one for one in parts if one.get("type") == "text" and text(one.get("text"))]
    typed = [
        one["text"]
        for one in texts
        if one.get("synthetic") is not True and one.get("ignored") is not True
    ]
    images = sum(
        one.get("type") == "file" and text(one.get("mime")).startswith("image/") for one in parts
    )
    if typed or images:
        said = "\n".join(typed)
        yield MessageRecord(group, group, "user", said, at, is_person, images=images, replaces=True)
    for one in texts:
        if one.get("synthetic") is True or one.get("ignored") is True:
            yield MessageRecord(one["id"], group, "system", one["text"], at)
    for one in parts:
        if one.get("type") == "subtask" and (said := text(one.get("prompt"))):
            yield MessageRecord(one["id"], group, "user", said, at)


def _assistant(
    group: str, info: Mapping[str, Any], parts: list[_Part], at: float | None
) -> Iterator[Record]:
    model = text(info.get("modelID"))
    calls = [one for one in parts if one.get("type") == "tool"]
    for one in parts:
        said = text(one.get("text"))
        if one.get("type") == "text" and said and info.get("summary") is not True:
            yield MessageRecord(one["id"], group, "assistant", said, at, model=model, replaces=True)
        elif one.get("type") == "reasoning" and said and fields(one.get("time")).get("end"):
            yield MessageRecord(
                one["id"], group, "assistant", at=at, model=model, thinking_bytes=size(said)
            )
        elif one.get("type") == "tool":
            yield from _call(group, one, at, model)
    for one in calls:
        yield from _result(one, at)


def _call(group: str, part: _Part, at: float | None, model: str) -> Iterator[Record]:
    state, tool = fields(part.get("state")), text(part.get("tool"))
    if state.get("status") not in ("running", "completed", "error"):
        return  # its arguments are still missing
    at = seconds(fields(state.get("time")).get("start")) or at
    called = tool, state.get("input"), text(part.get("callID")) or part["id"], at, model
    yield call_record(part["id"], group, *called, subagents=_SUBAGENTS, skills=_SKILLS)


def _result(part: _Part, at: float | None) -> Iterator[Record]:
    state, tool = fields(part.get("state")), text(part.get("tool"))
    status = state.get("status")
    if status not in ("completed", "error"):
        return
    metadata = fields(state.get("metadata"))
    has_failed = status == "error"
    said = text(state.get("error" if has_failed else "output"))
    is_denied = has_failed and said.startswith(_DENIED)
    ended = None if has_failed else code(metadata.get("exit"))
    key = f"{part['id']}:result"
    mimes = (text(one.get("mime")) for one in objects(state.get("attachments")))
    yield result_record(
        key,
        said,
        text(part.get("callID")) or part["id"],
        seconds(fields(state.get("time")).get("end")) or at,
        tool,
        failed=has_failed,
        ended=ended,
        is_denied=is_denied,
        files=() if has_failed else tuple(_changed_files(tool, metadata)),
        images=sum(one.startswith("image/") for one in mimes),
    )


def _changed_files(tool: str, metadata: Mapping[str, Any]) -> Iterator[tuple[str, FileAction]]:
    """Yield the files that a call changed, from its own record."""
    if tool == "write" and (path := text(metadata.get("filepath"))):
        yield path, "created" if metadata.get("exists") is False else "modified"
    elif tool == "edit" and (path := text(fields(metadata.get("filediff")).get("file"))):
        yield path, "modified"
    elif tool == "apply_patch":
        for one in objects(metadata.get("files")):
            if path := first_text(one, "movePath", "filePath"):
                yield path, _ACTIONS.get(text(one.get("type")), "modified")


def _usage(
    group: str, info: Mapping[str, Any], parts: list[_Part], at: float | None
) -> Iterator[Record]:
    """Yield each step as a response. For a step that did not end, or without reported tokens, the
    host writes zeros."""
    steps = [fields(one.get("tokens")) for one in parts if one.get("type") == "step-finish"]
    for number, tokens in enumerate(steps or [fields(info.get("tokens"))]):
        flat = {**tokens, **fields(tokens.get("cache"))}
        response = group if number == 0 else f"{group}:{number}"
        told = response, text(info.get("modelID")), at, flat, _TOKENS, group
        usage = usage_record(*told, has_cache_within=False)
        parted = sum(one or 0 for one in usage[3:8])
        total, said, thoughts = count(tokens.get("total")), usage.output, usage.reasoning
        if said is not None and thoughts and total is not None and total >= parted:
            usage = usage._replace(output=said + thoughts)
        if parted:
            yield usage


def _compaction(
    key: str, info: Mapping[str, Any], parts: list[_Part], asked: list[_Part]
) -> CompactionRecord:
    said = [text(one.get("text")).strip() for one in parts if one.get("type") == "text"]
    wished = next((one.get("auto") for one in asked if one.get("type") == "compaction"), None)
    return CompactionRecord(
        key,
        seconds(fields(info.get("time")).get("completed")),
        {True: "auto", False: "manual"}.get(wished, "") if isinstance(wished, bool) else "",
        "\n\n".join(filter(None, said)),
    )


IMPORTER = Importer(
    "opencode",
    "OpenCode",
    lambda ground: iter([data_folder(ground)]),
    find_databases,
    read_sessions=read_sessions,
)
