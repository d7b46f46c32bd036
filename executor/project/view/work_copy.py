"""A copy of the project to work on, where no view of it can be mounted, or none renewed.

That is in tier B, with remote engines, and in containers' sessions.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from base import capabilities
from executor.errors import RequestError
from executor.instance.removal import remove
from executor.model import GIB
from executor.project.store.manifest import ChangeSet
from executor.project.view.attributes import Attributes, attributes, set_attributes
from executor.project.view.copies import of_copy
from executor.project.view.record import EntryState, Record, state_of, take
from executor.project.view.tree import Tree
from executor.project.view.walking import FOLDER_FLAGS, walk
from executor.spawner.stand_ins import stand_in
from policy.secrets import is_secret_path

BYTES_MAX = GIB
ENTRIES_MAX = 200_000
BLOCK_BYTES = 4096
# What the kernel says where something else has come into an entry's place, or nothing.
_EXCHANGED = frozenset(
    {errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.EINVAL}
)


@dataclass(frozen=True, slots=True)
class WorkCopy:
    """A copy in `folder` that `owner` works in, and the state of both sides when they agreed.

    What is `closed` this user may not read: it is not in the copy.
    """

    folder: Path
    at_start: Mapping[str, EntryState]
    record: Record
    owner: tuple[int, int]
    closed: frozenset[str] = frozenset()

    def changes(self) -> ChangeSet:
        """What a run has changed in the copy.

        Raises:
            CommitError, OSError: there is too much, or it can't be read.
        """
        return of_copy(self.folder, self.at_start, self.record)

    def size(self) -> tuple[int, int]:
        """How many bytes on disk at most, and entries, it had when both sides agreed."""
        used = sum(-(-s.size // BLOCK_BYTES) * BLOCK_BYTES for s in self.at_start.values())
        return used, len(self.at_start)

    def record_agreed(self, record: Record) -> WorkCopy:
        """The same once all that changed in the copy is in the project, too, which is `record`.

        Raises:
            OSError: the copy can't be read.
        """
        states = take(self.folder, ()).states
        record = _without(without_secrets(record), self.closed)
        return replace(self, at_start=states, record=record)

    def renew(self, record: Record) -> WorkCopy:
        """The same once the copy is what the project is by now; no program may be at work in it.

        What neither side has changed since they agreed stays the file that it was.

        Raises:
            RequestError: the project has become too large to copy.
            OSError: the project can't be read, or the copy not be written.
        """
        record = without_secrets(record)
        wanted = dict(list_shown(record))
        os.chmod(self.folder, 0o700)
        stays = self._take_out_others(wanted)
        closed = _fill(record, self.folder, wanted, stays, self.owner)
        states = take(self.folder, ()).states
        return replace(self, at_start=states, record=_without(record, closed), closed=closed)

    def _take_out_others(self, wanted: Mapping[str, EntryState]) -> set[str]:
        """Remove what the project has not, or not so; what is left is as it is wanted."""
        top = os.open(self.folder, FOLDER_FLAGS)
        stays: set[str] = set()
        other: list[str] = []  # the topmost ones
        try:
            for folder in walk(top, stays.__contains__, other.append):
                _open_up(folder.descriptor)
                for entry in folder.entries:
                    path = folder.prefix + entry.name
                    info = entry.stat(follow_symlinks=False)
                    keeps = self._stays(path, info, wanted.get(path))
                    (stays.add if keeps else other.append)(path)
        finally:
            os.close(top)
        for path in other:
            _remove(self.folder / path)
        return stays.difference(other)

    def _stays(self, path: str, info: os.stat_result, wanted: EntryState | None) -> bool:
        if wanted is None or stat.S_IFMT(wanted.mode) != stat.S_IFMT(info.st_mode):
            return False
        if stat.S_ISDIR(wanted.mode):
            return True
        is_same = self.record.states.get(path) == wanted
        return is_same and self.at_start.get(path) == state_of(info)


def make(record: Record, folder: Path, owner: tuple[int, int]) -> WorkCopy:
    """Copy a project, but for what is hidden of it, for `owner` to work in.

    Raises:
        RequestError: it is too large to copy for every run.
        OSError: it can't be read, or `folder` not be written.
    """
    record = without_secrets(record)
    closed = _fill(record, folder, dict(list_shown(record)), set(), owner)
    return WorkCopy(folder, take(folder, ()).states, _without(record, closed), owner, closed)


def _fill(
    record: Record,
    folder: Path,
    wanted: Mapping[str, EntryState],
    present: Collection[str],
    owner: tuple[int, int],
) -> frozenset[str]:
    """Copy what is wanted and not `present`; which paths of it this user may not read.

    All folders get their modes and times.
    """
    total = 0
    done: list[tuple[str, EntryState]] = []
    top = os.open(record.project, FOLDER_FLAGS)
    try:
        with Tree(top) as project:
            copying = _TreeCopy(project, folder)
            for number, (path, state) in enumerate(wanted.items(), 1):
                total += state.size if stat.S_ISREG(state.mode) else 0
                if number > ENTRIES_MAX or total > BYTES_MAX:
                    raise _too_large()
                if path in present:
                    is_there = stat.S_ISDIR(state.mode)
                else:
                    is_there = copying.copy(path, state.mode)
                if is_there:
                    done.append((path, state))
            copying.finish(done, owner)
        # A secret that git misses would be a deletion, and be committed as one.
        stand_in(top, str(folder), record.hidden, owner)
    finally:
        os.close(top)
    return frozenset(copying.closed)


def without_secrets(record: Record) -> Record:
    """The same, with files of a secret's name hidden wherever they lie."""
    secret = {
        path
        for path, state in record.states.items()
        if stat.S_ISREG(state.mode) and is_secret_path(path)
    }
    return _without(record, secret)


def _without(record: Record, paths: Collection[str]) -> Record:
    return replace(record, hidden=record.hidden.union(paths))


def list_shown(record: Record) -> list[tuple[str, EntryState]]:
    """The folders, files and links that are not hidden, folders before what they hold."""
    below = tuple(f"{path}/" for path in record.hidden)
    return [
        (path, state)
        for path, state in sorted(record.states.items())
        if path not in record.hidden and not path.startswith(below) and _is_plain(state.mode)
    ]


def _is_plain(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _too_large() -> RequestError:
    return RequestError(
        f"the project is too large to be copied: over {ENTRIES_MAX:,} entries or "
        f"{BYTES_MAX // GIB} GiB",
        "profile build needs tier A for it: see `context-mode doctor`",
    )


class _TreeCopy:
    """Copies entry by entry what a project shows, reached through no link."""

    def __init__(self, project: Tree, folder: Path) -> None:
        self.project = project
        self.folder = folder
        self.closed: set[str] = set()  # which this user may not read
        self.linked: dict[tuple[int, int], Path] = {}  # the first of each group of hard links

    def copy(self, path: str, mode: int) -> bool:
        """Whether it was still there to be copied, and might be read."""
        target = self.folder / path
        try:
            if stat.S_ISDIR(mode):
                self.project.folder(path)
                target.mkdir()
            elif stat.S_ISLNK(mode):
                self._copy_link(path, target)
            else:
                return self._copy_file(path, target)
        except PermissionError:
            self.closed.add(path)
            return False
        except OSError as error:
            if error.errno not in _EXCHANGED:
                raise
            return False
        return True

    def _copy_link(self, path: str, target: Path) -> None:
        target.symlink_to(self.project.target(path))
        info = self.project.info(path)
        if info is not None:
            times = (info.st_atime_ns, info.st_mtime_ns)
            os.utime(target, ns=times, follow_symlinks=False)

    def _copy_file(self, path: str, target: Path) -> bool:
        source = self.project.open(path)
        try:
            info = os.fstat(source)
            if not stat.S_ISREG(info.st_mode):
                return False
            key = (info.st_ino, info.st_ctime_ns)
            if key in self.linked:
                os.link(self.linked[key], target)
                return True
            shutil.copy2(f"/proc/self/fd/{source}", target)
            if info.st_nlink > 1:
                self.linked[key] = target
        finally:
            os.close(source)
        return True

    def finish(self, copied: list[tuple[str, EntryState]], owner: tuple[int, int]) -> None:
        """Give everything its owner, and folders what they are, the innermost first."""
        gives = capabilities.holds(capabilities.CHOWN)
        for path, state in reversed(copied):
            target = self.folder / path
            if gives:
                os.chown(target, *owner, follow_symlinks=False)
            if stat.S_ISDIR(state.mode):
                set_attributes(str(target), self._attributes(path))
                os.chmod(target, stat.S_IMODE(state.mode) & 0o777)
                os.utime(target, ns=(state.mtime_ns, state.mtime_ns))

    def _attributes(self, path: str) -> Attributes:
        try:
            return attributes(self.project.folder(path))
        except OSError:  # gone meanwhile
            return ()


def _open_up(folder: int) -> None:
    """Let this user change what is in a folder that is open, whatever its program made of it."""
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    if mode & 0o700 != 0o700:
        os.fchmod(folder, mode | 0o700)


def _remove(path: Path) -> None:
    """Remove a file, a link or a folder however deep or locked, whose own folder is no link."""
    if path.is_dir() and not path.is_symlink():
        remove(path)
    else:
        path.unlink(missing_ok=True)
