"""A copy of the project to work on, if no view of it can be mounted or renewed.

That is the case in tier B, with remote engines, and in containers' sessions.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from base import process
from base.secrets import is_secret_path
from executor.instance.lock import remove
from executor.model import GIB, RequestError
from executor.project.store.manifest import ChangeSet
from executor.project.view.comparison import of_copy
from executor.project.view.record import PLAIN, Record, is_below, take
from executor.project.view.tree import EntryState, Tree, attributes, open_tree, set_attributes
from executor.spawner.stand_ins import stand_in

COPY_BYTES_MAX = GIB
COPY_ENTRIES_MAX = 200_000
BLOCK_BYTES = 4096
# The kernel's errors if an entry was replaced or removed.
_EXCHANGED = frozenset(
    {errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.EINVAL}
)


@dataclass(frozen=True, slots=True)
class WorkCopy:
    """A copy of the project, and the state of both sides when they agreed."""

    folder: Path
    at_start: Mapping[str, EntryState]
    record: Record
    owner: tuple[int, int]  # the user who works in it
    closed: frozenset[str] = frozenset()  # paths that this user may not read: not in the copy

    def changes(self) -> ChangeSet:
        """Read a run's changes in the copy.

        Raises:
            CommitError, OSError: there are too many changes, or the copy can't be read.
        """
        return of_copy(self.folder, self.at_start, self.record)

    def size(self) -> tuple[int, int]:
        """Return an upper limit of its bytes on disk, and its entries, when both sides agreed."""
        used = sum(-(-s.size // BLOCK_BYTES) * BLOCK_BYTES for s in self.at_start.values())
        return used, len(self.at_start)

    def record_agreed(self, record: Record) -> WorkCopy:
        """Return the same after all changes in the copy were applied to the project: in `record`.

        Raises:
            OSError: the copy can't be read.
        """
        return self._agree(without_secrets(record))

    def _agree(self, record: Record) -> WorkCopy:
        record = replace(record, hidden=record.hidden | self.closed)
        return replace(self, at_start=take(self.folder, ()).states, record=record)

    def renew(self, record: Record) -> WorkCopy:
        """Update the copy to the project's present state; no program may be running in it.

        A file that neither side has changed since they agreed is kept.

        Raises:
            RequestError: the project is now too large to copy.
            OSError: the project can't be read, or the copy can't be written.
        """
        record = without_secrets(record)
        wanted = _list_shown(record)
        os.chmod(self.folder, 0o700)
        stays = self._take_out_others(wanted)
        with open_tree(record.project) as project:
            copying = _Copying(project, self.folder, self.owner)
            copying.fill(wanted, stays)
            # For git a missing secret would be a deletion, and be committed as one.
            stand_in(project.top, str(self.folder), record.hidden, self.owner)
        return replace(self, closed=frozenset(copying.closed))._agree(record)

    def _take_out_others(self, wanted: Mapping[str, EntryState]) -> set[str]:
        """Remove entries that the project lacks or has changed; return the remaining ones."""
        now = take(self.folder, ()).states
        stays = {path for path, state in wanted.items() if self._stays(path, state, now.get(path))}
        removed: set[str] = set()
        for path in sorted(now.keys() - stays):
            if is_below(path, removed):
                continue
            removed.add(path)
            if stat.S_ISDIR(now[path].mode):
                remove(self.folder / path)
            else:
                (self.folder / path).unlink(missing_ok=True)
        return {path for path in stays if not is_below(path, removed)}

    def _stays(self, path: str, wanted: EntryState, now: EntryState | None) -> bool:
        if now is None:
            return False
        if stat.S_ISDIR(wanted.mode):
            # A folder that its program has locked is made again.
            return stat.S_ISDIR(now.mode) and now.mode & 0o700 == 0o700
        return self.record.states.get(path) == wanted and self.at_start.get(path) == now


def make(record: Record, folder: Path, owner: tuple[int, int]) -> WorkCopy:
    """Copy a project, except its hidden paths, into an empty folder, for `owner`.

    Raises:
        RequestError: it is too large to copy for every run.
        OSError: it can't be read, or `folder` can't be written.
    """
    return WorkCopy(folder, {}, record, owner).renew(record)


def without_secrets(record: Record) -> Record:
    """Return the same, with all files hidden that have a secret's name."""
    secret = {
        path
        for path, state in record.states.items()
        if stat.S_ISREG(state.mode) and is_secret_path(path)
    }
    return replace(record, hidden=record.hidden | secret)


def _list_shown(record: Record) -> dict[str, EntryState]:
    """List the folders, files and links that are not hidden, folders before their contents.

    Raises:
        RequestError: they are too many, or too large.
    """
    below = tuple(f"{path}/" for path in record.hidden)
    shown = {
        path: state
        for path, state in sorted(record.states.items())
        if path not in record.hidden
        and not path.startswith(below)
        and stat.S_IFMT(state.mode) in PLAIN
    }
    total = sum(state.size for state in shown.values() if stat.S_ISREG(state.mode))
    if len(shown) > COPY_ENTRIES_MAX or total > COPY_BYTES_MAX:
        raise RequestError(
            f"the project is too large to be copied: over {COPY_ENTRIES_MAX:,} entries or "
            f"{COPY_BYTES_MAX // GIB} GiB",
            "Profile build needs tier A for it: context-mode doctor shows how to get it.",
        )
    return shown


class _Copying:
    """Copies the shown entries of a project one by one, without following links."""

    def __init__(self, project: Tree, folder: Path, owner: tuple[int, int]) -> None:
        self.project = project
        self.folder = folder
        self.owner = owner
        self.closed: set[str] = set()  # paths that this user may not read
        self.linked: dict[tuple[int, int], Path] = {}  # the first of each group of hard links

    def fill(self, wanted: Mapping[str, EntryState], present: Collection[str]) -> None:
        """Copy all wanted entries that are not `present`. All folders get their modes and times.

        Raises:
            OSError: the project can't be read, or the copy can't be written.
        """
        copied = [
            path
            for path, state in wanted.items()
            if (stat.S_ISDIR(state.mode) if path in present else self._copy(path, state.mode))
        ]
        gives = process.holds(process.CHOWN)
        for path in reversed(copied):  # the innermost first
            state, target = wanted[path], self.folder / path
            if gives:
                os.chown(target, *self.owner, follow_symlinks=False)
            if stat.S_ISDIR(state.mode):
                self._finish_folder(path, state, target)

    def _copy(self, path: str, mode: int) -> bool:
        """Copy an entry; return whether it still existed and could be read."""
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
        with self.project.opened(path) as source:
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
        return True

    def _finish_folder(self, path: str, state: EntryState, target: Path) -> None:
        try:
            own = attributes(self.project.folder(path))
        except OSError:  # gone in the meantime
            own = ()
        set_attributes(str(target), own)
        os.chmod(target, stat.S_IMODE(state.mode) & 0o777)
        os.utime(target, ns=(state.mtime_ns, state.mtime_ns))
