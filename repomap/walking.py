"""Which files belong to a map, and why others don't."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from kb.walking import Selection, Walk, WalkEntry
from repomap.model import LeftOut

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "ignored": "git ignores it",
        "excluded": "never part of a map: repositories' own folders, installed packages",
        "too_large": "larger than map.file_bytes",
        "too_many": "map.files were found before it",
        "binary": "not text",
        "encoding": "neither UTF-8 nor UTF-16, or a name that isn't UTF-8",
        "permission": "may not be read",
        "link": "a symbolic link",
        "special": "no regular file",
        "secret_name": "named like a file of secrets",
        "denied": "a rule denies reading it",
        "pack": "a pack or a map that was written into the project",
        "generated": "a line of it is longer than 16 KiB",
        "vanished": "it was removed or changed while it was read",
        "late": "the time for one scan was over: the next goes on with it",
    }
)
"""Why a file is left out, by the names that `LeftOut.reason` has."""

FILE_BYTES = 512 * 1024
FILES = 20_000
Refusal = Literal["", "secret_name", "denied"]
Refuse = Callable[[str], Refusal]
_SENTENCES: Mapping[Refusal, str] = {
    "secret_name": "named like secrets",
    "denied": "denied by a rule",
}
_BY_TEXT = (
    *((text, reason) for reason, text in _SENTENCES.items()),
    ("ignored by .gitignore", "ignored"),
    ("leads to what", "ignored"),
    ("always left out", "excluded"),
    ("a symbolic link", "link"),
    ("a name that is not UTF-8", "encoding"),
    ("not a regular file", "special"),
    ("unreadable", "permission"),
)
"""Beginnings of the walk's reasons, which are sentences for a person."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a walk came upon, in order of the paths."""

    entries: tuple[WalkEntry, ...]
    left_out: tuple[LeftOut, ...]


def walk_files(
    root: Path,
    *,
    refuse: Refuse,
    file_bytes: int = FILE_BYTES,
    files: int = FILES,
    until: float = float("inf"),
) -> Found:
    """Find the files below `root` that a map may have; `until` is a time of the monotonic clock.

    `refuse` names the reason for which a file must not be read, by its relative path.

    Raises:
        TimeoutError: the folders took longer to list than that.
    """

    def judge(path: Path) -> str | None:
        reason = refuse(path.relative_to(root).as_posix())
        return _SENTENCES[reason] if reason else None

    walk = Walk(root, Selection(max_file_bytes=file_bytes, allowed=judge))
    entries: list[WalkEntry] = []
    beyond: list[LeftOut] = []
    for at, entry in enumerate(walk.files()):
        if at % 256 == 0 and time.monotonic() > until:
            raise TimeoutError
        if len(entries) < files:
            entries.append(entry)
        else:
            beyond.append(LeftOut(entry.relative, "too_many"))
    skipped = [
        LeftOut(one.path, reason)
        for one in walk.skipped
        if (reason := _name_reason(one.reason)) is not None
    ]
    entries.sort(key=lambda entry: entry.relative)
    return Found(tuple(entries), tuple(sorted([*skipped, *beyond], key=lambda one: one.path)))


def _name_reason(text: str) -> str | None:
    """Name the walk's reason; None where it is about a line of .gitignore, not about a file."""
    for begin, name in _BY_TEXT:
        if text.startswith(begin):
            return name
    return "too_large" if " bytes, over " in text else None
