"""A copy of the project to work on, where no view of it can be mounted: tier B, remote engines."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from executor.errors import RequestError
from executor.model import GIB
from executor.project.changes import ChangeSet, of_copy
from executor.project.record import Record, State, take
from executor.project.tree import Tree
from executor.project.walking import FOLDER_FLAGS
from executor.spawner.stand_ins import stand_in
from policy.secrets import is_secret_path

BYTES_MAX = GIB
ENTRIES_MAX = 200_000
# What the kernel says where something else has come into an entry's place, or nothing.
_EXCHANGED = frozenset(
    {errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.EINVAL}
)


@dataclass(frozen=True, slots=True)
class WorkCopy:
    """A copy in `folder`, and the state of both sides when it was made."""

    folder: Path
    at_start: Mapping[str, State]
    record: Record

    def changes(self) -> ChangeSet:
        """What a run has changed in the copy.

        Raises:
            CommitError, OSError: there is too much, or it can't be read.
        """
        return of_copy(self.folder, self.at_start, self.record)


def make(record: Record, folder: Path, owner: tuple[int, int]) -> WorkCopy:
    """Copy a project, but for what is hidden of it, for `owner` to work in.

    Raises:
        RequestError: it is too large to copy for every run.
        OSError: it can't be read, or `folder` not be written.
    """
    record = without_secrets(record)
    total = 0
    copied: list[tuple[str, State]] = []
    top = os.open(record.project, FOLDER_FLAGS)
    try:
        with Tree(top) as project:
            for path, state in shown(record):
                total += state.size if stat.S_ISREG(state.mode) else 0
                if len(copied) >= ENTRIES_MAX or total > BYTES_MAX:
                    raise _too_large()
                if _copy(project, path, folder / path, state.mode):
                    copied.append((path, state))
        _finish(folder, copied, owner)
        # A secret that git misses would be a deletion, and be committed as one.
        stand_in(top, str(folder), record.hidden, owner)
    finally:
        os.close(top)
    return WorkCopy(folder, take(folder, ()).states, record)


def without_secrets(record: Record) -> Record:
    """The same, with files of a secret's name hidden wherever they lie."""
    secret = {
        path
        for path, state in record.states.items()
        if stat.S_ISREG(state.mode) and is_secret_path(path)
    }
    return replace(record, hidden=record.hidden | secret)


def shown(record: Record) -> list[tuple[str, State]]:
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


def _copy(project: Tree, path: str, target: Path, mode: int) -> bool:
    """Whether it was still there to be copied, reached through no link."""
    try:
        if stat.S_ISDIR(mode):
            project.folder(path)
            target.mkdir()
        elif stat.S_ISLNK(mode):
            _copy_link(project, path, target)
        else:
            return _copy_file(project, path, target)
    except OSError as error:
        if error.errno not in _EXCHANGED:
            raise
        return False
    return True


def _copy_link(project: Tree, path: str, target: Path) -> None:
    target.symlink_to(project.target(path))
    info = project.info(path)
    if info is not None:
        os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns), follow_symlinks=False)


def _copy_file(project: Tree, path: str, target: Path) -> bool:
    source = project.open(path)
    try:
        if not stat.S_ISREG(os.fstat(source).st_mode):
            return False
        shutil.copy2(f"/proc/self/fd/{source}", target)
    finally:
        os.close(source)
    return True


def _finish(folder: Path, copied: list[tuple[str, State]], owner: tuple[int, int]) -> None:
    """Give everything its owner, and folders their modes and times, the innermost first."""
    for path, state in reversed(copied):
        target = folder / path
        if os.geteuid() == 0:
            os.chown(target, *owner, follow_symlinks=False)
        if stat.S_ISDIR(state.mode):
            os.chmod(target, stat.S_IMODE(state.mode) & 0o777)
            os.utime(target, ns=(state.mtime_ns, state.mtime_ns))
