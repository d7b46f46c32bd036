"""The project as it was when a view of it began.

A whole record has read the state of every entry. Any other has read folders alone, and tells the
rest from what it is by now: whatever is done to an entry sets its time of change, which no program
can set back. What changed last before that moment still is what it was then.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from base.mounts import mounts_below, read_mounts
from executor.model import RequestError
from executor.project.view.tree import DEPTH_MAX, FOLDER_FLAGS, Tree, split, walk

if TYPE_CHECKING:
    from executor.project.view.search import Folder, ProjectSearch

ENTRIES_MAX = 2_000_000
# The most that one run may change of a project, and how often that is looked at.
CHANGED_BYTES_MAX = 4 << 30
CHANGES_MAX = 1_000_000
INTERVAL_S = 0.1
PLAIN = frozenset({stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK})
# The coarsest time stamps in use are FAT's, of 2 s: a later change could bear the same.
SETTLED_NS = 2_000_000_000
# File systems of this machine's own clock whose renames, too, set the time of change.
TRUSTED = frozenset({"btrfs", "ext2", "ext3", "ext4", "tmpfs", "xfs"})
CLOCK_REALTIME_COARSE = 5  # linux/time.h: what most time stamps are taken from
STEP_NS_MAX = 1_000_000
COARSEST_NS = 1_000_000_000
WAIT_S = 0.0005
WAIT_S_MAX = 0.2
_STATE = attrgetter("st_mode", "st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")


class EntryState(NamedTuple):
    """One entry as the kernel told of it; whatever is written to it changes one of these."""

    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


def state_of(info: os.stat_result) -> EntryState:
    """Return the part of the kernel's record of an entry by which a change shows."""
    # As its own constructor does, at a third of its price.
    return tuple.__new__(EntryState, _STATE(info))


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
        """List every path, and the kind of what was there (`stat.S_IFMT`)."""
        if isinstance(self.states, Past):
            return self.states.kinds()
        return ((path, stat.S_IFMT(state.mode)) for path, state in self.states.items())

    def settle(self) -> None:
        """Wait, for milliseconds at most, until a program may begin to change the project.

        Without that all that the program changes of what was there is a conflict.
        """
        if isinstance(self.states, Past):
            self.states.moment.pass_by()

    def close(self) -> None:
        """Close what was opened to tell what was there; the record can still be used."""
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
    top = os.open(project, FOLDER_FLAGS)
    try:
        for prefix, _, entries in walk(top, lambda path: path not in unseen, unseen.add):
            for entry in entries:
                try:
                    info = entry.stat(follow_symlinks=False)
                except OSError:  # gone meanwhile
                    continue
                path = prefix + entry.name
                states[path] = state_of(info)
                if stat.S_IFMT(info.st_mode) not in PLAIN:
                    unseen.add(path)
            if len(states) > ENTRIES_MAX:
                raise too_many_entries()
    finally:
        os.close(top)
    return Record(project, states, frozenset(unseen))


def begin(search: ProjectSearch) -> Record:
    """Record a project as it is now by its folders alone; to be settled.

    Raises:
        RequestError: the project has too many entries.
        OSError: the project can't be listed.
    """
    moment = Moment()
    project = os.path.realpath(search.project)
    found = search.look(everywhere=True)
    unseen = {*found.secrets, *found.special, *mounts_in(project)}
    unseen.update(  # what is gone meanwhile, or lies too deep
        path
        for path, folder in found.folders.items()
        if not folder.state.mode or path.count("/") == DEPTH_MAX
    )
    folders = found.folders
    if tops := unseen & folders.keys():
        folders = {path: each for path, each in folders.items() if not is_below(path, tops)}
    return Record(Path(project), Past(project, moment, folders), frozenset(unseen))


def is_trusted(project: str) -> bool:
    """Return whether the file system of a project stamps what changes as `begin` needs it."""
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
    return bool(above) and max(above)[-1] in TRUSTED  # of two at one path the later one is seen


def too_many_entries() -> RequestError:
    """Return the error of a project that can't be looked through for every run."""
    return RequestError(
        f"the project has over {ENTRIES_MAX:,} entries: too many to be searched for secrets, and "
        "to run a program in that may change it",
        "start in the folder of the project that the program is about",
    )


def mounts_in(project: str) -> Iterator[str]:
    """List what is mounted below a project, by relative path: a view does not show it."""
    with contextlib.suppress(OSError):
        yield from (path[len(project) + 1 :] for path in mounts_below(project))


def is_below(path: str, tops: frozenset[str] | set[str]) -> bool:
    """Return whether a path or a folder that it lies in is one of `tops`."""
    while path:
        if path in tops:
            return True
        path = path.rpartition("/")[0]
    return False


class Moment:
    """A moment that time stamps are held against, once `pass_by` has returned."""

    def __init__(self) -> None:
        """Take the time of now."""
        self._steps = _offset()
        self._is_over = False
        self.ns = time.time_ns()

    def pass_by(self) -> None:
        """Wait, for about one tick of the clock, until no new stamp can seem to be older."""
        until = time.monotonic() + WAIT_S_MAX
        while time.clock_gettime_ns(CLOCK_REALTIME_COARSE) <= self.ns:
            if time.monotonic() > until:  # it was set back
                return
            time.sleep(WAIT_S)
        self._is_over = True

    def is_after(self, stamp_ns: int) -> bool:
        """Return whether a stamp was certainly taken before this moment, or at it.

        One that ends in zeros may be a rounded one, and stands for all that are rounded to it.
        """
        grain = 1
        while grain < COARSEST_NS and stamp_ns % (grain * 10) == 0:
            grain *= 10
        return stamp_ns + grain - 1 <= self.ns

    def is_lost(self) -> bool:
        """Return whether newer stamps may seem older: the clock was set back, or nobody waited."""
        return not self._is_over or _offset() < self._steps - STEP_NS_MAX


def _offset() -> int:
    """Return how far the clock is from one that nobody sets; whoever was held up says less."""
    return max(time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME) for _ in range(5))


class Past(Mapping[str, EntryState]):
    """The entries of a project as they were at a moment, by relative path.

    One of which that can't be told any more has a state that no entry has: only its kind is known.
    """

    def __init__(self, project: str, moment: Moment, folders: Mapping[str, Folder]) -> None:
        """Look at the project only when asked."""
        self.moment = moment
        self._project = project
        self._folders = folders
        self._told: dict[str, EntryState] = {}
        self._tree: Tree | None = None
        self._is_lost = False

    def close(self) -> None:
        """Close what was opened; what was told stays known."""
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
        """List every path, and the kind of what was there (`stat.S_IFMT`)."""
        for path, folder in self._folders.items():
            prefix = f"{path}/" if path else ""
            for name, kind in folder.kinds.items():
                yield prefix + name, kind

    def _kind(self, path: str) -> int | None:
        above, name = split(path)
        folder = self._folders.get(above)
        return folder.kinds.get(name) if folder else None

    def _state(self, path: str, kind: int) -> EntryState:
        """Return what an entry is now, if it lies in its folder as before, and did not change."""
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
