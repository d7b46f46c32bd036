"""Writing of files for the user into a folder that programs may change at the same time.

A project's folders are opened one by one and never through a link, because a program may create
links to anywhere in it. Links outside the project are the user's, and are followed.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import BinaryIO

from base.plain_files import open_plain
from ctxmode.errors import ContextModeError, why
from executor import Artifact
from executor.run import Answer, safe_name

ROOM_BYTES = 1 << 20
NUMBERS_MAX = 1000
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


class RefusedError(Exception):
    """A file was not written to its folder; the text says why."""


class Destination:
    """An open folder. `project` is the project's real path."""

    def __init__(self, fd: int, folder: Path, project: Path) -> None:
        self.folder = folder
        self._fd = fd
        self._name = _name_for_tools(Path(_place(fd)), project)

    def add(self, content: BinaryIO, name: str, *, is_asked_for: bool = False) -> Path:
        """Write a new file with this name or a numbered one; replace nothing.

        Raises:
            RefusedError: tools may run or load the file and the user did not name it
                (`is_asked_for`), or all names are taken.
            OSError: it cannot be written.
        """
        for candidate in _list_candidates(name):
            if not is_asked_for and is_obeyed(str(self._name / candidate)):
                shown = self._name / candidate
                raise RefusedError(
                    f"tools may run or load {shown}; name exactly this file to get it"
                )
            with contextlib.suppress(FileExistsError):
                self._write_new(candidate, content, 0o600)
                return self.folder / candidate
        raise RefusedError(f"{NUMBERS_MAX:,} files with that name already exist")

    def replace(self, name: str, content: BinaryIO, mode: int = 0o666) -> None:
        """Replace a regular file, or create it, with `mode` minus the user's umask.

        Raises:
            RefusedError: the name belongs to something other than a regular file.
            OSError: it cannot be written.
        """
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
            if not stat.S_ISREG(found.st_mode):
                raise RefusedError(f"{self.folder / name} is not a regular file; remove it")
        partial = f".{name}.{secrets.token_hex(8)}"
        self._write_new(partial, content, mode)
        os.rename(partial, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def remove(self, name: str) -> None:
        """Remove a folder in it; ignore errors."""
        shutil.rmtree(name, ignore_errors=True, dir_fd=self._fd)

    def _write_new(self, name: str, content: BinaryIO, mode: int) -> None:
        fd = os.open(name, NEW_FILE, mode, dir_fd=self._fd)
        try:
            with open(fd, "wb") as out:
                while part := content.read(ROOM_BYTES):
                    out.write(part)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self._fd)
            raise


@contextlib.contextmanager
def open_destination(folder: Path, project: Path) -> Iterator[Destination]:
    """Open the folder, and create it if it is missing.

    Raises:
        RefusedError: it is in the project, and its path contains a link.
        OSError: it cannot be created or opened.
    """
    fd = os.open("/", FOLDER)
    try:
        for part in PurePath(os.path.abspath(folder)).parts[1:]:
            fd = _enter(fd, part, project)
        yield Destination(fd, folder, project)
    finally:
        os.close(fd)


def remove_folder(folder: Path, project: Path) -> None:
    """Remove a folder with its contents; follow no link. Raise the errors of `open_destination` for
    its parent folder."""
    with open_destination(folder.parent, project) as above:
        above.remove(folder.name)


def _enter(fd: int, part: str, project: Path) -> int:
    """Open a folder in an open one, which is then closed, unless this raises."""
    is_inside = Path(_place(fd)).is_relative_to(project)
    flags = FOLDER | (os.O_NOFOLLOW if is_inside else 0)
    try:
        try:
            entered = os.open(part, flags, dir_fd=fd)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=fd)
            entered = os.open(part, flags, dir_fd=fd)
    except OSError as error:
        if is_inside and error.errno in (errno.ENOTDIR, errno.ELOOP) and _is_link(fd, part):
            raise RefusedError(
                f"{_place(fd)}/{part} is a link in the project, which is not followed"
            ) from error
        raise
    os.close(fd)
    return entered


def _is_link(fd: int, name: str) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)


def _place(fd: int) -> str:
    return os.readlink(f"/proc/self/fd/{fd}")


def _name_for_tools(place: Path, project: Path) -> PurePath:
    """Return the folder's path as tools see it: relative to the project or the home folder, else
    empty. The path of the project itself does not count: it may be a worktree in an agent's
    folder."""
    for top in (project, Path.home()):
        if place.is_relative_to(top):
            return place.relative_to(top)
    return PurePath()


def _list_candidates(name: str) -> Iterator[str]:
    yield name
    path = PurePath(name)
    for number in range(1, NUMBERS_MAX):
        yield str(path.with_stem(f"{path.stem}-{number}"))


def is_obeyed(path: str) -> bool:
    """Return whether tools may run or load a file with this relative path on their own."""
    from executor.project import NAMES  # noqa: PLC0415 - few runs need it

    return NAMES.judge(path) is not None


GLOB_CHARACTERS = frozenset("*?[")


def deliver(answer: Answer, folder: Path, project: Path, asked_for: Sequence[str] = ()) -> Answer:
    """Move the artifacts into `folder`; replace no file and follow no link; the result lists
    refused files.

    A pattern of `asked_for` without wildcards names a file, which may be one that tools run or
    load.

    Raises:
        ContextModeError: the folder cannot be written.
    """
    artifacts = answer.result.artifacts
    if not any(artifact.path for artifact in artifacts):
        return answer
    try:
        with open_destination(folder, project) as destination:
            moved = tuple(_move(one, destination, asked_for) for one in artifacts)
    except RefusedError as error:
        moved = tuple(_refuse(one, error) if one.path else one for one in artifacts)
    except OSError as error:
        raise ContextModeError(
            f"cannot write artifacts to {folder}: {why(error)}",
            "Give another folder with --artifacts-dir.",
        ) from error
    return replace(answer, result=replace(answer.result, artifacts=moved))


def find_unmatched(patterns: Iterable[str], artifacts: Sequence[Artifact]) -> list[str]:
    """Return the patterns whose last part no artifact's name matches."""
    names = [PurePath(one.name).name for one in artifacts]
    return [one for one in patterns if not fnmatch.filter(names, PurePath(one).name)]


def _move(artifact: Artifact, destination: Destination, asked_for: Sequence[str]) -> Artifact:
    if artifact.path is None:
        return artifact
    kept, name = Path(artifact.path), safe_name(artifact.name)
    is_asked_for = any(_names(pattern, artifact.name) for pattern in asked_for)
    try:
        with open_plain(kept, follow=False) as content:
            target = destination.add(content, name, is_asked_for=is_asked_for)
    except RefusedError as error:
        return _refuse(artifact, error)
    kept.unlink()
    return replace(artifact, path=str(target))


def _refuse(artifact: Artifact, error: RefusedError) -> Artifact:
    return Artifact(artifact.name, reason=str(error))


def _names(pattern: str, name: str) -> bool:
    """Return whether a pattern without wildcards is the path of this file."""
    if GLOB_CHARACTERS & set(pattern):
        return False
    path = os.path.normpath(pattern)
    return path == name or (path.startswith("/") and path.endswith(f"/{name}"))
