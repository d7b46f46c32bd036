"""A copy of the project to work on, where no view of it can be mounted: tier B, remote engines."""

from __future__ import annotations

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
from policy.secrets import is_secret_path

BYTES_MAX = GIB
ENTRIES_MAX = 200_000


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
    for path, state in shown(record):
        total += state.size if stat.S_ISREG(state.mode) else 0
        if len(copied) >= ENTRIES_MAX or total > BYTES_MAX:
            raise RequestError(
                f"the project is too large to be copied: over {ENTRIES_MAX:,} entries or "
                f"{BYTES_MAX // GIB} GiB",
                "profile build needs tier A for it: see `context-mode doctor`",
            )
        if _copy(record.project / path, folder / path, state.mode):
            copied.append((path, state))
    _finish(folder, copied, owner)
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


def _copy(source: Path, target: Path, mode: int) -> bool:
    """Whether it was there to be copied."""
    try:
        if stat.S_ISDIR(mode):
            target.mkdir()
        else:
            shutil.copy2(source, target, follow_symlinks=False)
    except FileNotFoundError:  # gone since
        return False
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
