"""A project to write to where nothing can be mounted (tier B): a copy, committed after the run.

Nothing of the copy reaches the project before every process of the run is dead, and then only
what it changed: protected paths never, and nothing that someone else changed meanwhile.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from executor.artifacts import readable
from executor.errors import RequestError
from executor.model import MIB, ChangedFile
from executor.project_files import protected_paths
from executor.project_search import ProjectSearch
from executor.repositories import is_made_dangerous
from policy.secrets import is_secret_path

BYTES_MAX = 256 * MIB
ENTRIES_MAX = 20_000

State = tuple[int, int, int, int]  # mode, size, and when it was modified and changed last


@dataclass(frozen=True, slots=True)
class Commit:
    """What reached the project, what was protected, and what was left for a person to decide."""

    changed: tuple[ChangedFile, ...]
    undone: tuple[str, ...]
    conflicts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorkCopy:
    """A copy of a project, and the state of both sides when it was made."""

    search: ProjectSearch
    folder: Path
    theirs: dict[str, State]
    ours: dict[str, State]

    @property
    def project(self) -> Path:
        return self.search.project

    def commit(self) -> Commit:
        """Bring what the run changed into the project.

        Raises:
            OSError: the project can't be written.
        """
        now = _states(self.folder)
        protected = protected_paths(self.search)
        changed, undone, conflicts = [], [], []
        for path in self._changed_paths(now):
            if self._is_protected(path, now, protected):
                undone.append(path)
            elif not self._may_be_brought(path, now.get(path)):
                conflicts.append(path)
            elif path in now:
                changed.append(self._write(path, now[path]))
            elif self._delete(path):
                changed.append(ChangedFile(path, "deleted"))
            else:
                conflicts.append(path)
        # Names as text, whatever bytes a program chose.
        named = sorted(
            (replace(change, path=readable(change.path)) for change in changed),
            key=lambda change: change.path,
        )
        return Commit(tuple(named), tuple(map(readable, undone)), tuple(map(readable, conflicts)))

    def _changed_paths(self, now: dict[str, State]) -> list[str]:
        """What is new or different, folders first; then what is gone, folders last."""
        different = [
            path
            for path in sorted(now)
            if self.ours.get(path) != now[path] and not _same_folder(self.ours, now, path)
        ]
        return different + sorted(self.ours.keys() - now.keys(), reverse=True)

    def _is_protected(self, path: str, now: dict[str, State], protected: Sequence[str]) -> bool:
        if is_made_dangerous(path, self.theirs, now):
            return True
        return any(path == p or path.startswith(f"{p}/") for p in protected)

    def _may_be_brought(self, path: str, after: State | None) -> bool:
        """Whether the project is still as it was there, and what is written lands there.

        A symbolic link of the project on the way would lead it elsewhere.
        """
        before, there = self.theirs.get(path), _state(self.project / path)
        if before and stat.S_ISDIR(before[0]):
            # Its times change with what is in it.
            unchanged = there is not None and stat.S_ISDIR(there[0])
        else:
            unchanged = there == before
        parent = (self.project / path).parent
        return (
            unchanged
            and _fit(before, after)
            and parent.is_dir()
            and os.path.realpath(parent) == str(parent)
        )

    def _delete(self, path: str) -> bool:
        """Whether it is gone; a folder into which someone else put something stays."""
        target = self.project / path
        try:
            if stat.S_ISDIR(self.theirs[path][0]):
                target.rmdir()
            else:
                target.unlink()
        except OSError:
            return False
        return True

    def _write(self, path: str, state: State) -> ChangedFile:
        target, source = self.project / path, self.folder / path
        change = "modified" if path in self.theirs else "created"
        is_folder = stat.S_ISDIR(state[0])
        if is_folder:
            target.mkdir(exist_ok=True)
        else:
            _replace(source, target)
        owner = self.project.stat()
        if os.geteuid() == 0:
            os.chown(target, owner.st_uid, owner.st_gid, follow_symlinks=False)
        return ChangedFile(
            f"{path}/" if is_folder else path, change, None if is_folder else state[1]
        )


def make(search: ProjectSearch, folder: Path, owner: tuple[int, int]) -> WorkCopy:
    """Copy a project, but for its secrets, for `owner` to work in.

    Raises:
        RequestError: it is too large to copy for every run.
        OSError: it can't be read, or `folder` not be written.
    """
    theirs: dict[str, State] = {}
    total = 0
    project = search.project
    hidden = {os.path.relpath(path, project) for path in search.secrets()}
    for path, info in _walk(project, hidden):
        total += info.st_size
        if len(theirs) >= ENTRIES_MAX or total > BYTES_MAX:
            raise RequestError(
                f"the project is too large to be copied: over {ENTRIES_MAX:,} entries or "
                f"{BYTES_MAX // MIB} MiB",
                "profile build needs tier A for it: see `context-mode doctor`",
            )
        theirs[path] = _state_of(info)
        source, target = project / path, folder / path
        if stat.S_ISDIR(info.st_mode):
            target.mkdir()
        elif stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
            shutil.copy2(source, target, follow_symlinks=False)
        if os.geteuid() == 0 and os.path.lexists(target):
            os.chown(target, *owner, follow_symlinks=False)
    return WorkCopy(search, folder, theirs, _states(folder))


def _walk(top: Path, hidden: Container[str] = ()) -> Iterator[tuple[str, os.stat_result]]:
    """Every entry but the hidden and those with a secret's name, folders before what they hold."""
    for folder, folders, files in os.walk(top):
        beside = os.path.relpath(folder, top)
        folders[:] = [n for n in folders if os.path.normpath(f"{beside}/{n}") not in hidden]
        for name in sorted(folders) + sorted(
            n for n in files if not is_secret_path(f"{beside}/{n}")
        ):
            path = os.path.normpath(f"{beside}/{name}")
            if path not in hidden:
                yield path, os.lstat(os.path.join(folder, name))


def _states(top: Path) -> dict[str, State]:
    return {path: _state_of(info) for path, info in _walk(top)}


def _state(path: Path) -> State | None:
    try:
        return _state_of(path.lstat())
    except OSError:
        return None


def _state_of(info: os.stat_result) -> State:
    # The time of the last change, unlike that of the content's, can't be set back.
    return info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def _same_folder(before: dict[str, State], now: dict[str, State], path: str) -> bool:
    """Whether `path` was and is a folder: its time changes with what is in it, which is told."""
    return all(path in side and stat.S_ISDIR(side[path][0]) for side in (before, now))


def _fit(before: State | None, after: State | None) -> bool:
    """Whether one can take the other's place: files and links may, a folder for a file may not."""
    kinds = {stat.S_IFMT(side[0]) for side in (before, after) if side}
    if not kinds <= {stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR}:
        return False  # a FIFO, a socket
    return stat.S_IFDIR not in kinds or len(kinds) == 1


def _replace(source: Path, target: Path) -> None:
    """Put a file or link in place as a whole: no reader sees half of it.

    What is written on the way bears a name that no program can have put a link under before.
    """
    beside = target.with_name(f".{secrets.token_hex(8)}.ctxmode")
    if source.is_symlink():
        os.symlink(os.readlink(source), beside)
    else:
        _copy(source, beside)
    os.replace(beside, target)


def _copy(source: Path, target: Path) -> None:
    """Content and mode, following a link at neither end."""
    reader = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    writer = os.open(
        target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    with open(reader, "rb") as content, open(writer, "wb") as out:
        shutil.copyfileobj(content, out)
        os.fchmod(writer, stat.S_IMODE(os.fstat(reader).st_mode) & 0o777)
