"""The drafts below `.contexo/`: opened without following a link, and written as a whole."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memory.errors import BadInputError, StoreUnavailableError
from memory.pages.model import DRAFTS_FOLDER, FOLDERS, PAGE_BYTES_MAX

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A FIFO must not wait for its other end, nor a terminal become ours.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SUFFIX = ".md"


class Drafts:
    """The drafts of a project. Paths are those of the repository, such as `wiki/concepts/x.md`."""

    def __init__(self, project: Path, hides: Callable[[str], bool] = lambda _: False) -> None:
        """Take the project, and what says of an absolute path whether rules deny to read it."""
        self.folder = project / DRAFTS_FOLDER
        self._hides = hides

    def make_folders(self) -> None:
        """Make the folders of all types of pages.

        Raises:
            BadInputError: a link or a file is in the way.
            StoreUnavailableError: they cannot be made.
        """
        with self._translated(""), suppress(FileExistsError):
            os.mkdir(self.folder, 0o755)
        for below in FOLDERS.values():
            with self._translated(below), self._open_folder(f"{below}/x", make=True):
                pass

    def read(self, path: str) -> str | None:
        """Return a draft's text; None if there is none.

        Raises:
            BadInputError: it is a link, no regular file, too large, no UTF-8, or a rule denies it.
        """
        if self._hides(f"{self.folder}/{path}"):
            raise self._bad(path, "is not read: a rule denies it", "context-mode policy list")
        with self._translated(path):
            try:
                with self._open_folder(path) as (folder, name):
                    data = _read_file(folder, name)
            except FileNotFoundError:
                return None
        if len(data) > PAGE_BYTES_MAX:
            raise self._bad(path, f"is larger than {PAGE_BYTES_MAX >> 20} MiB", "divide it")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            message = f"is no UTF-8 text (byte {error.start})"
            raise self._bad(path, message, "save it as UTF-8") from None

    def write(self, path: str, text: str) -> None:
        """Write a draft: whoever reads it finds the old text or the new one.

        Raises:
            BadInputError: a link or another kind of file is in the way, or it is too large.
            StoreUnavailableError: it cannot be written.
        """
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise self._bad(path, "has a lone surrogate", "take it out") from None
        if len(data) > PAGE_BYTES_MAX:
            raise self._bad(path, f"is larger than {PAGE_BYTES_MAX >> 20} MiB", "divide it")
        with self._translated(path), self._open_folder(path, make=True) as (folder, name):
            with suppress(FileNotFoundError):
                if not stat.S_ISREG(os.lstat(name, dir_fd=folder).st_mode):
                    raise OSError(errno.ELOOP, "it is not a regular file")
            _replace(folder, name, data)

    def remove(self, path: str) -> bool:
        """Remove a draft; return whether there was one."""
        with self._translated(path):
            try:
                with self._open_folder(path) as (folder, name):
                    os.unlink(name, dir_fd=folder)
            except FileNotFoundError:
                return False
        return True

    def remove_leftovers(self) -> None:
        """Remove what writers that died left of new texts."""
        for below in FOLDERS.values():
            opened = self._open_folder(f"{below}/x")
            with self._translated(below), suppress(FileNotFoundError), opened as (folder, _):
                for name in os.listdir(folder):
                    if name.startswith(".") and name.endswith(".new"):
                        os.unlink(name, dir_fd=folder)

    def list_paths(self) -> list[str]:
        """Return the paths of all drafts, sorted, whatever kind of file each is.

        Raises:
            BadInputError: a folder of them is a link or a file.
        """
        found = []
        for below in FOLDERS.values():
            with self._translated(below), suppress(FileNotFoundError):
                with self._open_folder(f"{below}/x") as (folder, _):
                    names = os.listdir(folder)
                found += [
                    f"{below}/{name}"
                    for name in names
                    if name.endswith(_SUFFIX) and not name.startswith(".")
                ]
        return sorted(found)

    @contextmanager
    def _open_folder(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Open a draft's folder step by step, since any of them may become a link meanwhile."""
        *parents, name = path.split("/")
        path.encode()  # a lone surrogate stands in no path of a page
        if any(part in ("", ".", "..") or "\0" in part for part in (*parents, name)):
            raise OSError(errno.EINVAL, "it is no path of a page")
        folder = os.open(self.folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in (DRAFTS_FOLDER, *parents):
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=folder)
                below = os.open(part, _FOLDER_FLAGS, dir_fd=folder)
                os.close(folder)
                folder = below
            yield folder, name
        finally:
            os.close(folder)

    @contextmanager
    def _translated(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except (ValueError, UnicodeEncodeError):
            raise self._bad(path, "is no path of a page", "choose another slug") from None
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EPERM, errno.EDQUOT):
                message = f"{DRAFTS_FOLDER}/{path} cannot be opened: {error.strerror}"
                raise StoreUnavailableError(message) from error
            message = f"is no regular file without links ({error.strerror})"
            raise self._bad(path, message, "put a plain file or folder in its place") from error

    @staticmethod
    def _bad(path: str, what: str, remedy: str) -> BadInputError:
        return BadInputError(f"{DRAFTS_FOLDER}/{path[:200]!r} {what}".replace("'", ""), remedy)


def _read_file(folder: int, name: str) -> bytes:
    descriptor = os.open(name, _FILE_FLAGS, dir_fd=folder)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return file.read(PAGE_BYTES_MAX + 1)


def _replace(folder: int, name: str, data: bytes) -> None:
    # A short name of its own: that of the longest slug would be too long with anything added.
    beside = f".{secrets.token_hex(8)}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(beside, flags, 0o644, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise
