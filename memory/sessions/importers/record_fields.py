"""Records from the fields that most hosts write, given their names in a host's transcripts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from memory.sessions.importers.importer import Ground, State
from memory.sessions.importers.untrusted_json import (
    count,
    fields,
    first_text,
    is_file,
    is_folder,
    less,
    scan,
    subfolders,
)
from memory.sessions.records import FileAction, MessageRecord, UsageRecord

OPEN_MAX = 200
"""Limit for calls without a result; the oldest is dropped."""

Names = Mapping[str, tuple[str, ...]]
"""The argument of some tools, by the tool's name: the first of the fields that is a text."""

NO_NAMES: Names = {}


def list_files(folder: str, pattern: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the plain files at a pattern below a folder, such as `*/chats/*.jsonl`, each with the
    names on its way. Links that match a star are skipped."""
    head, _, rest = pattern.partition("/")
    if rest and "*" not in head:
        yield from list_files(os.path.join(folder, head), rest)
        return
    for entry in scan(folder):
        if not fnmatchcase(entry.name, head):
            continue
        if not rest and is_file(entry):
            yield entry.path, (entry.name,)
        elif rest and is_folder(entry):
            for path, names in list_files(entry.path, rest):
                yield path, (entry.name, *names)


def encode_path(path: str) -> str:
    """Return the name that several hosts give to the folder of a working directory."""
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def list_project_files(
    ground: Ground, folder: str, *patterns: str
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the files in those folders that may be the project's, or one of its subfolders'."""
    wanted = encode_path(ground.project)
    for project in subfolders(folder):
        is_wanted = project.name == wanted or project.name.startswith(f"{wanted}-")
        if is_wanted or not ground.project:
            for pattern in patterns:
                yield from list_files(project.path, pattern)


def call_record(  # noqa: PLR0913, PLR0917 - the fields of a call
    key: str,
    group: str,
    tool: str,
    params: object,
    call_id: str,
    at: float | None = None,
    model: str = "",
    *,
    subagents: Names = NO_NAMES,
    skills: Names = NO_NAMES,
) -> MessageRecord:
    """Return a tool's call; its arguments may name a subagent or a skill."""
    given = fields(params)
    return MessageRecord(
        key,
        group,
        "tool_call",
        at=at,
        tool=tool,
        params=params,
        call_id=call_id,
        subagent=first_text(given, *subagents.get(tool, ())),
        skill=first_text(given, *skills.get(tool, ())),
        model=model,
    )


def result_record(  # noqa: PLR0913 - the fields of a result
    key: str,
    said: str,
    call_id: str,
    at: float | None = None,
    tool: str = "",
    *,
    failed: bool,
    ended: int | None = None,
    is_denied: bool = False,
    files: tuple[tuple[str, FileAction], ...] = (),
    images: int = 0,
) -> MessageRecord:
    """Return a call's result. A denied call has neither failed nor an exit code."""
    return MessageRecord(
        key,
        key,
        "tool_result",
        said,
        at,
        tool=tool,
        call_id=call_id,
        failed=(failed or bool(ended)) and not is_denied,
        exit_code=None if is_denied else ended,
        is_denied=is_denied,
        files=files,
        images=images,
    )


def usage_record(  # noqa: PLR0913, PLR0917 - the fields of a response
    response: str,
    model: str,
    at: float | None,
    tokens: Mapping[str, Any],
    names: tuple[str, str, str, str, str],
    group: str = "",
    *,
    has_cache_within: bool = True,
) -> UsageRecord:
    """Return a response's tokens. `names` are the fields of input, output, tokens read from a cache
    and written to it, and reasoning. With `has_cache_within` the input includes the cached ones."""
    given, said, read, written, thoughts = (count(tokens.get(name)) for name in names)
    own = less(given, read, written) if has_cache_within else given
    return UsageRecord(response, model, at, own, said, read, written, thoughts, group)


def open_call(state: State, call_id: str, call: object) -> None:
    """Store a call until its result comes."""
    calls = state.setdefault("calls", {})
    calls[call_id] = call
    while len(calls) > OPEN_MAX:
        del calls[next(iter(calls))]


def read_trailer(said: str, trailer: re.Pattern[str]) -> int | None:
    """Return the exit code in the host's last lines of a command's output."""
    found = trailer.search(said[-1000:])
    return int(found[1]) if found else None
