"""What the project was when a view of it began."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from base.mounts import mounts_below
from executor.errors import RequestError
from executor.project.view.walking import FOLDER_FLAGS, walk

ENTRIES_MAX = 2_000_000
PLAIN = frozenset({stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK})


class EntryState(NamedTuple):
    """One entry as the kernel told of it; whatever is written to it changes one of these."""

    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class States(Mapping[str, EntryState]):
    """The states of entries by relative path, where they are not all read ahead."""

    def kinds(self) -> Iterator[tuple[str, int]]:
        """Every path, and the kind of what was there (`stat.S_IFMT`)."""
        raise NotImplementedError

    def settle(self) -> None:
        """Wait until what changes from now on can be told from what changed before."""

    def close(self) -> None:
        """Close what was opened to tell them."""


@dataclass(frozen=True, slots=True)
class Record:
    """A project at one moment.

    `states` and `hidden` are by relative path. The view does not show what is hidden, nor
    anything below it: secrets, denied paths, sockets, FIFOs, devices, other mounts.
    """

    project: Path
    states: Mapping[str, EntryState]
    hidden: frozenset[str]

    def kinds(self) -> Iterator[tuple[str, int]]:
        """Every path, and the kind of what was there (`stat.S_IFMT`)."""
        if isinstance(self.states, States):
            return self.states.kinds()
        return ((path, stat.S_IFMT(state.mode)) for path, state in self.states.items())

    def settle(self) -> None:
        """Wait, for milliseconds at most, until a program may begin to change the project.

        Without that all that the program changes of what was there is a conflict.
        """
        if isinstance(self.states, States):
            self.states.settle()

    def close(self) -> None:
        """Close what was opened to tell what was there; the record can still be used."""
        if isinstance(self.states, States):
            self.states.close()


def take(project: Path, hidden: Iterable[str]) -> Record:
    """Record every entry of a project, following no link and entering no other mount.

    Raises:
        RequestError: the project has more than `ENTRIES_MAX` entries.
        OSError: the project can't be read.
    """
    project = Path(os.path.realpath(project))
    unseen = {os.path.normpath(path) for path in hidden} | set(mounts_in(str(project)))
    states: dict[str, EntryState] = {}
    top = os.open(project, FOLDER_FLAGS)
    try:
        for folder in walk(top, lambda path: path not in unseen, unseen.add):
            _add(folder.prefix, folder.entries, states, unseen)
            if len(states) > ENTRIES_MAX:
                raise RequestError(
                    f"the project has over {ENTRIES_MAX:,} entries: too many to run a program "
                    "in that may change it",
                    "start in the folder of the project that the program is about",
                )
    finally:
        os.close(top)
    return Record(project, states, frozenset(unseen))


def _add(
    prefix: str,
    entries: Iterable[os.DirEntry[str]],
    states: dict[str, EntryState],
    unseen: set[str],
) -> None:
    new = tuple.__new__  # what a NamedTuple's own constructor does, at a third of its price
    for entry in entries:
        try:
            info = entry.stat(follow_symlinks=False)
        except OSError:  # gone meanwhile
            continue
        path = prefix + entry.name
        mode = info.st_mode
        states[path] = new(
            EntryState, (mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
        )
        if stat.S_IFMT(mode) not in PLAIN:
            unseen.add(path)


def state_of(info: os.stat_result) -> EntryState:
    """The part of the kernel's record of an entry by which a change shows."""
    return EntryState(info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


def mounts_in(project: str) -> Iterator[str]:
    """What is mounted somewhere below a project, by relative path: a view does not show it."""
    with contextlib.suppress(OSError):
        yield from (path[len(project) + 1 :] for path in mounts_below(project))


def is_below(path: str, tops: frozenset[str] | set[str]) -> bool:
    """Whether a path or a folder that it lies in is one of `tops`."""
    while path:
        if path in tops:
            return True
        path = path.rpartition("/")[0]
    return False
