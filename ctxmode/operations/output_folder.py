"""A folder that files are put into for a person, whatever a program has made of it meanwhile.

A project's folders are opened one by one and never through a link: a program may make links there,
to anywhere. Outside the project links are the person's own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import BinaryIO

from base.plain_files import open_plain
from ctxmode.errors import ContextModeError
from executor import Artifact
from executor.run import Answer, safe_name

ROOM_BYTES = 1 << 20
NUMBERS_MAX = 1000
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


class RefusedError(Exception):
    """Something is not put where it was to go; the text says why."""


class Destination:
    """The open folder. `project` is the project's real path."""

    def __init__(self, fd: int, folder: Path, project: Path) -> None:
        self.folder = folder
        self._fd = fd
        self._name = _name_for_tools(Path(_place(fd)), project)

    def add(self, content: BinaryIO, name: str, *, is_asked_for: bool = False) -> Path:
        """Put a new file there, under this name or a numbered one: nothing is ever replaced.

        RefusedError: tools obey the file and no person asked for this very one (`is_asked_for`), or
        every name is taken. OSError: it cannot be written.
        """
        for candidate in _list_candidates(name):
            if not is_asked_for and is_obeyed(str(self._name / candidate)):
                shown = self._name / candidate
                raise RefusedError(f"{shown} may be obeyed by tools: name that very file to get it")
            with contextlib.suppress(FileExistsError):
                self._write_new(candidate, content, 0o600)
                return self.folder / candidate
        raise RefusedError(f"{NUMBERS_MAX:,} files of that name are there already")

    def replace(self, name: str, content: BinaryIO, mode: int = 0o666) -> None:
        """Put a file in the place of a regular one, or of none, with a mode that the user's mask
        lessens. RefusedError: what has the name is no regular file; OSError: it cannot be
        written."""
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
            if not stat.S_ISREG(found.st_mode):
                raise RefusedError(f"{self.folder / name} is no regular file: remove it")
        partial = f".{name}.{secrets.token_hex(8)}"
        self._write_new(partial, content, mode)
        os.rename(partial, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def remove(self, name: str) -> None:
        """Remove a folder below, as far as that can be done."""
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
    """Open the folder, made if it is missing. RefusedError: it lies in the project, behind a link;
    OSError: it cannot be made or opened."""
    fd = os.open("/", FOLDER)
    try:
        for part in PurePath(os.path.abspath(folder)).parts[1:]:
            fd = _enter(fd, part, project)
        yield Destination(fd, folder, project)
    finally:
        os.close(fd)


def remove_folder(folder: Path, project: Path) -> None:
    """Remove a folder with all that is in it; no link is followed on the way there, or in it. It
    raises what `open_destination` does of the folder above."""
    with open_destination(folder.parent, project) as above:
        above.remove(folder.name)


def _enter(fd: int, part: str, project: Path) -> int:
    """Open the folder of this name in an open one, which is closed unless this raises."""
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
    """Name the folder as tools see it: in the project, or at home; elsewhere a name is all that
    counts. The path to the project says nothing: it may be a worktree in an agent's folder."""
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
    """Tell whether tools obey a file of this relative path, or may do so."""
    from executor.project import NAMES  # noqa: PLC0415 - few runs need it

    return NAMES.judge(path) is not None


GLOB_CHARACTERS = frozenset("*?[")


def deliver(answer: Answer, folder: Path, project: Path, asked_for: Sequence[str] = ()) -> Answer:
    """Move the artifacts into `folder`; no file is replaced, no link followed, and the result names
    what is refused.

    A pattern of `asked_for` without wildcards names a file: that one may be one which tools obey. A
    ContextModeError says that the folder cannot be written.
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
            f"artifacts cannot be put into {folder}: {error.strerror}",
            "Name another folder with --artifacts-dir.",
        ) from error
    return replace(answer, result=replace(answer.result, artifacts=moved))


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
    """Tell whether a pattern is the path of this very file, and no wildcard."""
    if GLOB_CHARACTERS & set(pattern):
        return False
    path = os.path.normpath(pattern)
    return path == name or (path.startswith("/") and path.endswith(f"/{name}"))
