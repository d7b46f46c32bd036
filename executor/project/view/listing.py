"""The folders of a project and the names in them, listed anew only where a folder has changed."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from executor.errors import RequestError
from executor.project.view.record import ENTRIES_MAX, PLAIN, EntryState, state_of
from executor.project.view.walking import DEPTH_MAX

# The coarsest time stamps in use are FAT's, of 2 s: a later change could bear the same.
SETTLED_NS = 2_000_000_000
REMEMBERED_MAX = 500_000  # entries, of some 100 bytes each


class FolderEntries(NamedTuple):
    """A folder as it was, and of which kind (`stat.S_IFMT`) each entry was, by name."""

    state: EntryState
    device: int
    kinds: Mapping[str, int]

    def is_same(self, info: os.stat_result) -> bool:
        """Whether this is the folder that was listed, whatever is in it by now."""
        return (info.st_dev, info.st_ino) == (self.device, self.state.inode)


@dataclass(frozen=True, slots=True)
class Listing:
    """All folders by relative path, the project's own by an empty one; what could not be read."""

    folders: Mapping[str, FolderEntries]
    unread: frozenset[str]


class Listings:
    """Lists one project again and again; any thread may ask."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: Mapping[str, FolderEntries] = {}

    def take(self, project: str, unseen: frozenset[str]) -> Listing:
        """Every folder but those that are `unseen`; what is neither file, folder nor link is told.

        Raises:
            RequestError: the project has more than `ENTRIES_MAX` entries.
            OSError: the project itself can't be listed.
        """
        began, known = time.time_ns(), self._known
        found: dict[str, FolderEntries] = {}
        unread: set[str] = set()
        entries, ahead = 0, [""]
        while ahead:
            path = ahead.pop()
            try:
                listed = _look(f"{project}/{path}", known.get(path))
            except OSError:  # not ours to read; or exchanged for something else meanwhile
                if not path:
                    raise
                unread.add(path)
                continue
            found[path] = listed
            entries += len(listed.kinds)
            if entries > ENTRIES_MAX:
                raise RequestError(
                    f"the project has over {ENTRIES_MAX:,} entries: too many to run a program "
                    "in that may change it",
                    "start in the folder of the project that the program is about",
                )
            prefix = f"{path}/" if path else ""
            for name, kind in listed.kinds.items():
                if kind == stat.S_IFREG or kind == stat.S_IFLNK:  # noqa: PLR1714 - most are
                    continue
                inner = prefix + name
                if kind not in PLAIN or inner.count("/") >= DEPTH_MAX:
                    unread.add(inner)
                elif inner not in unseen:
                    ahead.append(inner)
        if entries <= REMEMBERED_MAX:
            self._known = {p: f for p, f in found.items() if began - f.state.ctime_ns > SETTLED_NS}
        return Listing(found, frozenset(unread))


def _look(path: str, known: FolderEntries | None) -> FolderEntries:
    """A folder as it is now: which time of change is as it was holds what it held.

    Raises:
        OSError: it can't be listed.
    """
    info = os.lstat(path)
    state = state_of(info)
    if known is not None and known.state == state and known.device == info.st_dev:
        return known
    if not stat.S_ISDIR(info.st_mode):
        raise NotADirectoryError(path)
    with os.scandir(path) as scan:
        return FolderEntries(state, info.st_dev, {entry.name: _kind(entry) for entry in scan})


def _kind(entry: os.DirEntry[str]) -> int:
    if entry.is_file(follow_symlinks=False):
        return stat.S_IFREG
    if entry.is_dir(follow_symlinks=False):
        return stat.S_IFDIR
    return stat.S_IFLNK if entry.is_symlink() else 0
