"""What each entry of a project was at a past moment, told from what it is by now.

Whatever is done to an entry sets its time of change, which no program can set back: what changed
last before that moment still is what it was then. So nothing has to be read of a file that nobody
asks about. Of folders more is known: which they were, and the names in them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from base.mounts import read_mounts
from executor.project.view.listing import FolderEntries, Listing, Listings
from executor.project.view.record import EntryState, Record, States, mounts_in, state_of
from executor.project.view.tree import Tree, split
from executor.project.view.walking import FOLDER_FLAGS

# File systems of this machine's own clock whose renames, too, set the time of change.
TRUSTED = frozenset({"btrfs", "ext2", "ext3", "ext4", "tmpfs", "xfs"})
CLOCK_REALTIME_COARSE = 5  # linux/time.h: what most time stamps are taken from
STEP_NS_MAX = 1_000_000
COARSEST_NS = 1_000_000_000
WAIT_S = 0.0005
WAIT_S_MAX = 0.2


class Moment:
    """A moment that time stamps are held against, once `pass_by` has returned."""

    def __init__(self) -> None:
        """Now."""
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
        """Whether a stamp was certainly taken before this moment, or at it.

        One that ends in zeros may be a rounded one, and stands for all that are rounded to it.
        """
        grain = 1
        while grain < COARSEST_NS and stamp_ns % (grain * 10) == 0:
            grain *= 10
        return stamp_ns + grain - 1 <= self.ns

    def is_lost(self) -> bool:
        """Whether newer stamps may seem to be older: the clock was set back, or nobody waited."""
        return not self._is_over or _offset() < self._steps - STEP_NS_MAX


def _offset() -> int:
    """How far the clock is from one that nobody sets; whoever was held up in between says less."""
    return max(time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME) for _ in range(5))


class Past(States):
    """The entries of a project as they were at a moment, by relative path.

    One of which that can't be told any more has a state that no entry has: only its kind is known.
    """

    def __init__(self, project: str, moment: Moment, listing: Listing) -> None:
        """Look at the project only when asked."""
        self._project = project
        self._moment = moment
        self._folders = listing.folders
        self._told: dict[str, EntryState] = {}
        self._tree: Tree | None = None
        self._is_lost = False

    def settle(self) -> None:
        """Wait until nothing that changes from now on can seem to have changed before."""
        self._moment.pass_by()

    def close(self) -> None:
        """Close what was opened; what was told stays known."""
        if self._tree is not None:
            self._tree.forget()
            os.close(self._tree.top)
            self._tree = None

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._kind(path) is not None

    def __iter__(self) -> Iterator[str]:
        for path, _ in self.kinds():
            yield path

    def __len__(self) -> int:
        return sum(len(folder.kinds) for folder in self._folders.values())

    def __getitem__(self, path: str) -> EntryState:
        known = self._told.get(path)
        if known is None:
            kind = self._kind(path)
            if kind is None:
                raise KeyError(path)
            folder = self._folders.get(path)
            known = folder.state if folder else self._state(path, kind)
            self._told[path] = known
        return known

    def kinds(self) -> Iterator[tuple[str, int]]:
        """Every path, and the kind of what was there (`stat.S_IFMT`)."""
        for path, folder in self._folders.items():
            prefix = f"{path}/" if path else ""
            for name, kind in folder.kinds.items():
                yield prefix + name, kind

    def _kind(self, path: str) -> int | None:
        above, name = split(path)
        folder = self._folders.get(above)
        return folder.kinds.get(name) if folder else None

    def _state(self, path: str, kind: int) -> EntryState:
        above, name = split(path)
        try:
            info = self._look(name, above, self._folders[above])
        except OSError:
            info = None
        if info is None or not self._moment.is_after(info.st_ctime_ns):
            return EntryState(kind, -1, -1, -1, -1)
        return state_of(info)

    def _look(self, name: str, above: str, folder: FolderEntries) -> os.stat_result | None:
        """An entry as it is now, if it lies in the folder that it lay in."""
        if self._tree is None:
            self._tree = Tree(os.open(self._project, FOLDER_FLAGS))
            self._is_lost = self._moment.is_lost()
        descriptor = self._tree.folder(above)
        if self._is_lost or not folder.is_same(os.fstat(descriptor)):
            return None
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False)


def begin(project: Path, hidden: Iterable[str], listings: Listings) -> Record:
    """A record of a project as it is now, of which only folders are read; to be settled.

    Raises:
        RequestError: the project has too many entries.
        OSError: the project can't be listed.
    """
    moment = Moment()
    place = os.path.realpath(project)
    unseen = frozenset({os.path.normpath(path) for path in hidden} | set(mounts_in(place)))
    listing = listings.take(place, unseen)
    return Record(Path(place), Past(place, moment, listing), unseen | listing.unread)


def is_trusted(project: str) -> bool:
    """Whether the file system of a project stamps what changes as this needs it."""
    try:
        if os.stat(project).st_ctime_ns % COARSEST_NS == 0:  # small inodes have whole seconds
            return False
        mounts = read_mounts()
    except OSError:
        return False
    found, kind = "", ""
    for mount in mounts:
        inside = mount.path.rstrip("/") + "/"
        if len(mount.path) >= len(found) and f"{project}/".startswith(inside):
            found, kind = mount.path, mount.kind
    return kind in TRUSTED
