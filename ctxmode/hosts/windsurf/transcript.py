"""Windsurf's Cascade: `~/.windsurf/transcripts/ID.jsonl`, one step per line.

The host writes these only for a hook on `post_cascade_response_with_transcript`, the whole
conversation after each answer, and keeps the latest hundred. Its own store, `*.pb` files, is
encrypted and not read. A step has a `type`, and its data under that name; public readers describe
`user_input`, `planner_response` and `code_action`, and the host warns that the form may change. Any
other step is a call of that name. There are no times, tokens, results or folders: a conversation is
the project's if one of its steps names a path in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from base.plain_files import open_plain
from memory.sessions.importers.importer import Ground, Importer, State, Transcript
from memory.sessions.importers.untrusted_json import (
    fields,
    first_text,
    is_file,
    objects,
    scan,
    text,
)
from memory.sessions.records import MessageRecord, Record

TRANSCRIPTS_MAX = 200
LOOKED_AT_BYTES = 4 << 20
_FILE_URL = "file://"
_PATHS = ("path", "file_path", "cwd", "working_directory")


def transcripts_folder(ground: Ground) -> str:
    """Return the folder of all transcripts."""
    return ground.root or os.path.join(ground.home, ".windsurf", "transcripts")


def find_transcripts(ground: Ground) -> Iterator[Transcript]:
    """Yield the conversations of the project, among the latest of the host."""
    entries = (one for one in scan(transcripts_folder(ground)) if one.name.endswith(".jsonl"))
    latest = sorted(filter(is_file, entries), key=_changed_at, reverse=True)
    for entry in latest[:TRANSCRIPTS_MAX]:
        if not ground.project or _names_project(entry, ground.project):
            yield Transcript(entry.path, entry.name.removesuffix(".jsonl"), ground.project)


def _changed_at(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat(follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


def _names_project(entry: os.DirEntry[str], project: str) -> bool:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return _looks_like(entry.path, status.st_size, status.st_mtime_ns, project)


@lru_cache(1024)
def _looks_like(path: str, size: int, mtime_ns: int, project: str) -> bool:
    """Return whether a step names a path in the project; each version of a file is checked once."""
    below = project.rstrip("/") + "/"
    try:
        with open_plain(path, follow=False) as file:
            lines = file.read(LOOKED_AT_BYTES).splitlines()
    except (OSError, ValueError):
        return False
    for line in lines:
        try:
            step = json.loads(line)
        except (ValueError, RecursionError):
            continue
        paths = [_path(one, name) for one in _parts(step) for name in _PATHS]
        if any((os.path.normpath(one) + "/").startswith(below) for one in paths if one):
            return True
    return False


def _parts(step: object) -> Iterator[Mapping[str, Any]]:
    return objects([fields(step).get(text(fields(step).get("type")))])


def _path(part: Mapping[str, Any], name: str) -> str:
    return text(part.get(name)).removeprefix(_FILE_URL).replace("\0", "")


def parse_line(value: Mapping[str, Any], state: State) -> Iterator[Record]:
    """Read one step. The host rewrites all steps, so a later one replaces an earlier."""
    kind = text(value.get("type"))
    step = fields(value.get(kind))
    number = state["steps"] = state.get("steps", 0) + 1
    key = f"{number}:{kind}"
    if kind == "user_input":
        if said := first_text(step, "user_response", "text", "prompt"):
            yield MessageRecord(key, key, "user", said, is_prompt=True, replaces=True)
    elif kind == "planner_response":
        if said := first_text(step, "response", "text"):
            yield MessageRecord(key, key, "assistant", said, replaces=True)
    elif step:
        path = _path(step, "path") or _path(step, "file_path")
        is_edit = kind in ("code_action", "write_code") and bool(path)
        yield MessageRecord(
            key,
            key,
            "tool_call",
            tool=kind,
            params={**step, "path": path} if path else step,
            call_id=key,
            files=((path, "modified"),) if is_edit else (),
            replaces=True,
        )


IMPORTER = Importer(
    "windsurf",
    "Windsurf",
    lambda ground: iter([transcripts_folder(ground)]),
    find_transcripts,
    parse_line,
)
