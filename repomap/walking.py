"""Selection of the files of a map, with the reasons for leaving others out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from kb import Selection, Walk, WalkEntry, Why
from repomap.model import LeftOut

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "ignored": "git ignores it",
        "excluded": "never part of a map: folders of repositories, installed packages",
        "too_large": "larger than map.file_bytes",
        "too_many": "beyond the limit map.files",
        "binary": "not text",
        "encoding": "neither UTF-8 nor UTF-16, or a name that isn't UTF-8",
        "permission": "not readable",
        "link": "a symbolic link",
        "met": "the same folder, at another path",
        "special": "not a regular file",
        "secret_name": "named like a file of secrets",
        "denied": "a rule denies reading it",
        "pack": "a pack or a map that was written into the project",
        "generated": "a line of it is longer than 16 KiB",
        "vanished": "it was removed or changed while it was read",
        "late": "the scan reached its time limit: the next one continues",
    }
)
"""Reasons for leaving a file out, by the names in `LeftOut`."""

FILE_BYTES = 512 * 1024
FILES = 20_000
Refuse = Callable[[str], Literal["", "secret_name", "denied"]]
LISTED_TIMES = 5
"""Multiple of `files` up to which files are listed; beyond it, the rest are not counted."""

_NAMES: Mapping[Why, str] = MappingProxyType(
    {
        Why.ALWAYS: "excluded",
        Why.IGNORED: "ignored",
        Why.LINK: "link",
        Why.NAME: "encoding",
        Why.SPECIAL: "special",
        Why.TOO_LARGE: "too_large",
        Why.MET: "met",
        Why.UNREADABLE: "permission",
    }
)
"""Names of the walk's reasons here; the reason for a line of an ignore file concerns no file."""


def walk_files(
    root: Path,
    *,
    refuse: Refuse,
    file_bytes: int = FILE_BYTES,
    files: int = FILES,
    until: float = float("inf"),
) -> tuple[list[WalkEntry], list[LeftOut], bool]:
    """Find the files below `root` for a map, ordered by path, those left out, and whether all were
    listed. `until` is a time of the monotonic clock. `refuse` returns why a file must not be read,
    by its relative path.

    Raises:
        OSError: `root` itself cannot be listed.
        TimeoutError: listing the folders took longer.
    """
    with os.scandir(root):
        begin = len(os.path.join(root, ""))

    def judge(path: Path) -> str | None:
        return refuse(str(path)[begin:]) or None

    walk = Walk(root, Selection(max_file_bytes=file_bytes, allowed=judge), until=until)
    entries: list[WalkEntry] = []
    beyond: list[LeftOut] = []
    is_whole = True
    for entry in walk.files():
        if len(entries) < files:
            entries.append(entry)
        elif len(beyond) < files * (LISTED_TIMES - 1):
            beyond.append((entry.relative, "too_many"))
        else:
            is_whole = False
            break
    skipped = [
        # Refused files have the name of their reason.
        (path, reason if why is Why.NOT_ALLOWED else _NAMES[why])
        for path, reason, why in walk.skipped
        if why is Why.NOT_ALLOWED or why in _NAMES
    ]
    entries.sort(key=lambda entry: entry.relative)
    return entries, sorted([*skipped, *beyond]), is_whole
