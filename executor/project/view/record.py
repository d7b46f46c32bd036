"""The project's state when a view of it began.

A whole record has read the state of every entry. Any other has read only folders, and derives the
rest from the present state: every change to an entry sets its time of change, which no program can
set back. An entry last changed before that moment is still in the same state.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from base.process import mounts_below, read_mounts
from executor.model import RequestError
from executor.project.view.tree import (
    DEPTH_MAX,
    FOLDER_FLAGS,
    EntryState,
    Tree,
    open_tree,
    split,
    state_of,
    walk,
)

if TYPE_CHECKING:
    from executor.project.view.search import Folder, ProjectSearch

ENTRIES_MAX = 2_000_000
# Limits on one run's changes to a project, and the interval of checks.
CHANGED_BYTES_MAX = 4 << 30
CHANGES_MAX = 1_000_000
INTERVAL_S = 0.1
PLAIN = frozenset({stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK})
# The coarsest time stamps in use are FAT's, of 2 s: a later change could have the same one.
SETTLED_NS = 2_000_000_000
# File systems that use this machine's clock and set the time of change for renames, too.
TRUSTED = frozenset({"btrfs", "ext2", "ext3", "ext4", "tmpfs", "xfs"})
CLOCK_REALTIME_COARSE = 5  # linux/time.h: the source of most time stamps
STEP_NS_MAX = 1_000_000
COARSEST_NS = 1_000_000_000
WAIT_S = 0.0005
WAIT_S_MAX = 0.2


@dataclass(frozen=True, slots=True)
class Record:
    """A project at one moment.

    `states` and `hidden` are by relative path. The view does not show hidden paths, nor
    anything below them: secrets, denied paths, sockets, FIFOs, devices, other mounts.
    """

    project: Path
    states: Mapping[str, EntryState]
    hidden: frozenset[str]

    def kinds(self) -> Iterator[tuple[str, int]]:
        """List every path with the kind of its entry (`stat.S_IFMT`)."""
        if isinstance(self.states, Past):
            return self.states.kinds()
        return ((path, stat.S_IFMT(state.mode)) for path, state in self.states.items())

    def settle(self) -> None:
        """Wait, for some milliseconds, until a program may begin to change the project.

        Without that, every change by the program to an existing file is a conflict.
        """
        if isinstance(self.states, Past):
            self.states.moment.pass_by()

    def close(self) -> None:
        """Close descriptors opened to read former states; the record can still be used."""
        if isinstance(self.states, Past):
            self.states.close()


def take(project: Path, hidden: Iterable[str]) -> Record:
    """Record every entry of a project, following no link and entering no other mount.

    Raises:
        RequestError: the project has more than `ENTRIES_MAX` entries.
        OSError: the project can't be read.
    """
    project = Path(os.path.realpath(project))
    unseen = {*map(os.path.normpath, hidden), *mounts_in(str(project))}
    states: dict[str, EntryState] = {}
    with open_tree(project) as tree:
        for prefix, _, entries in walk(tree.top, lambda path: path not in unseen, unseen.add):
            for entry in entries:
                try:
                    info = entry.stat(follow_symlinks=False)
                except OSError:  # gone in the meantime
                    continue
                path = prefix + entry.name
                states[path] = state_of(info)
                if stat.S_IFMT(info.st_mode) not in PLAIN:
                    unseen.add(path)
            if len(states) > ENTRIES_MAX:
                raise too_many_entries()
    return Record(project, states, frozenset(unseen))


def begin(search: ProjectSearch) -> Record:
    """Record a project's present state by its folders alone; `settle` must follow.

    Raises:
        RequestError: the project has too many entries.
        OSError: the project can't be listed.
    """
    moment = Moment()
    project = os.path.realpath(search.project)
    found = search.look(everywhere=True)
    unseen = {*found.secrets, *found.special, *mounts_in(project)}
    unseen.update(  # folders that are gone, or too deep
        path
        for path, folder in found.folders.items()
        if not folder.state.mode or path.count("/") == DEPTH_MAX
    )
    folders = found.folders
    if tops := unseen & folders.keys():
        folders = {path: each for path, each in folders.items() if not is_below(path, tops)}
    return Record(Path(project), Past(project, moment, folders), frozenset(unseen))


def is_trusted(project: str) -> bool:
    """Return whether the project's file system sets times of change as `begin` needs them."""
    try:
        if os.stat(project).st_ctime_ns % COARSEST_NS == 0:  # small inodes have whole seconds
            return False
        mounts = enumerate(read_mounts())
    except OSError:
        return False
    inside = f"{project}/".startswith
    above = [
        (len(path), at, kind) for at, (path, kind, _) in mounts if inside(path.rstrip("/") + "/")
    ]
    return bool(above) and max(above)[-1] in TRUSTED  # of two at one path the later is in effect


def too_many_entries() -> RequestError:
    """Return the error for a project that is too large to search for every run."""
    return RequestError(
        f"the project has over {ENTRIES_MAX:,} entries: too many to be searched for secrets, and "
        "to run a program that may change it",
        "Start in the folder of the project that the program is about.",
    )


def mounts_in(project: str) -> Iterator[str]:
    """List the mounts below a project, by relative path: a view does not show them."""
    with contextlib.suppress(OSError):
        yield from (path[len(project) + 1 :] for path in mounts_below(project))


def is_below(path: str, tops: frozenset[str] | set[str]) -> bool:
    """Return whether a path, or a folder that contains it, is one of `tops`."""
    while path:
        if path in tops:
            return True
        path = path.rpartition("/")[0]
    return False


class Moment:
    """A moment to compare time stamps with, once `pass_by` has returned."""

    def __init__(self) -> None:
        """Use the present time."""
        self._steps = _offset()
        self._is_over = False
        self.ns = time.time_ns()

    def pass_by(self) -> None:
        """Wait about one tick of the clock, until no new stamp can seem older than this."""
        until = time.monotonic() + WAIT_S_MAX
        while time.clock_gettime_ns(CLOCK_REALTIME_COARSE) <= self.ns:
            if time.monotonic() > until:  # the clock was set back
                return
            time.sleep(WAIT_S)
        self._is_over = True

    def is_after(self, stamp_ns: int) -> bool:
        """Return whether a stamp was certainly made before this moment, or at it.

        A stamp that ends in zeros may be rounded; then the latest possible time counts.
        """
        grain = 1
        while grain < COARSEST_NS and stamp_ns % (grain * 10) == 0:
            grain *= 10
        return stamp_ns + grain - 1 <= self.ns

    def is_lost(self) -> bool:
        """Return whether newer stamps may seem older: the clock was set back, or nobody waited."""
        return not self._is_over or _offset() < self._steps - STEP_NS_MAX


def _offset() -> int:
    """Return the distance from a clock that nobody sets; delays only make a result smaller."""
    return max(time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME) for _ in range(5))


class Past(Mapping[str, EntryState]):
    """The entries of a project at a moment in the past, by relative path.

    If an entry's state is no longer known, it gets one that no entry has: only its kind is known.
    """

    def __init__(self, project: str, moment: Moment, folders: Mapping[str, Folder]) -> None:
        """Read the project only when asked."""
        self.moment = moment
        self._project = project
        self._folders = folders
        self._told: dict[str, EntryState] = {}
        self._tree: Tree | None = None
        self._is_lost = False

    def close(self) -> None:
        """Close descriptors; states read so far stay known."""
        if self._tree is not None:
            self._tree.forget()
            os.close(self._tree.top)
            self._tree = None

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._kind(path) is not None

    def __iter__(self) -> Iterator[str]:
        return (path for path, _ in self.kinds())

    def __len__(self) -> int:
        return sum(len(folder.kinds) for folder in self._folders.values())

    def __getitem__(self, path: str) -> EntryState:
        if path not in self._told:
            kind = self._kind(path)
            if kind is None:
                raise KeyError(path)
            folder = self._folders.get(path)
            self._told[path] = folder.state if folder else self._state(path, kind)
        return self._told[path]

    def kinds(self) -> Iterator[tuple[str, int]]:
        """List every path with the kind of its entry (`stat.S_IFMT`)."""
        for path, folder in self._folders.items():
            prefix = f"{path}/" if path else ""
            for name, kind in folder.kinds.items():
                yield prefix + name, kind

    def _kind(self, path: str) -> int | None:
        above, name = split(path)
        folder = self._folders.get(above)
        return folder.kinds.get(name) if folder else None

    def _state(self, path: str, kind: int) -> EntryState:
        """Return an entry's present state, if it is in the same folder and did not change."""
        above, name = split(path)
        with contextlib.suppress(OSError):
            if self._tree is None:
                self._tree = Tree(os.open(self._project, FOLDER_FLAGS))
                self._is_lost = self.moment.is_lost()
            descriptor = self._tree.folder(above)
            if not self._is_lost and self._folders[above].is_same(os.fstat(descriptor)):
                info = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if self.moment.is_after(info.st_ctime_ns):
                    return state_of(info)
        return EntryState(kind, -1, -1, -1, -1)
