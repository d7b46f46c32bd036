"""Unpacking of a box's returned files into a folder of the host, and nowhere else.

A supervisor packed them (`executor/spawner/artifacts.py`) from files that programs made.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from executor.instance.lock import remove
from executor.model import SandboxError
from executor.spawner.artifacts import AGAIN, BLOCK_BYTES, END, ENTRY, FIRST
from executor.spawner.kernel import StepError, open_beneath

NAME_BYTES_MAX = 4096  # PATH_MAX
HOPS_MAX = 40  # links that the kernel follows in one path
SECONDS = range(-(1 << 31), 1 << 34)  # ext4's
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SPECIAL_MODES = stat.S_ISUID | stat.S_ISGID


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a bundle, valid until the next one is read.

    Attributes:
        name: relative path, without dots, as its kind demands no more.
        mode: kind and rights.
        mtime_ns: time of the last change.
        size: bytes of its content, for a link of its target.
        is_again: whether the content is an earlier name of the same file.
        bundle: the open bundle, positioned at the content.
    """

    name: str
    mode: int
    mtime_ns: int
    size: int
    is_again: bool
    bundle: BinaryIO

    def read(self) -> bytes:
        """Read the content."""
        return self.bundle.read(self.size)

    def read_path(self) -> str:
        """Read a content that is a path.

        Raises:
            SandboxError: it is not a path.
        """
        if not 0 < self.size <= NAME_BYTES_MAX:
            raise SandboxError(f"a link with an invalid target: {self.name!r}")
        path = os.fsdecode(self.read())
        if "\0" in path:
            raise SandboxError(f"a link with a NUL in it: {self.name!r}")
        return path

    def copy_to(self, target: int) -> None:
        """Copy the content into an open file."""
        left = self.size
        while left and (block := self.bundle.read(min(left, BLOCK_BYTES))):
            left -= len(block)
            while block:
                block = block[os.write(target, block) :]


def read_entries(bundle: BinaryIO, bytes_max: int | None = None) -> Iterator[Entry]:
    """Read the entries of a bundle one after the other.

    Raises:
        SandboxError: it is damaged, a name points outside, or contents are larger than `bytes_max`.
    """
    length = os.fstat(bundle.fileno()).st_size
    while True:
        head = bundle.read(ENTRY.size)
        if len(head) < ENTRY.size:
            raise SandboxError("the returned bundle is incomplete")
        kind, name_bytes, mode, seconds, rest, size = ENTRY.unpack(head)
        if kind == END:
            return
        after = bundle.tell() + name_bytes + size
        if kind not in (FIRST, AGAIN) or name_bytes > NAME_BYTES_MAX or after > length:
            raise SandboxError("the returned bundle is damaged")
        name = os.fsdecode(bundle.read(name_bytes))
        check_name(name)
        if bytes_max is not None and stat.S_ISREG(mode) and kind == FIRST:
            bytes_max -= size
            if bytes_max < 0:
                raise SandboxError("it has more bytes than may be returned")
        yield Entry(name, mode, seconds * 10**9 + rest, size, kind == AGAIN, bundle)
        bundle.seek(after)


def check_name(name: str) -> None:
    """Refuse a name that is not a plain relative path.

    Raises:
        SandboxError: it is not.
    """
    if "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        raise SandboxError(f"a file's name leads out of its folder: {name!r}")


def unpack(
    bundle: BinaryIO, folder: Path, bytes_max: int | None = None, *, as_is: bool = False
) -> None:
    """Put files, folders and links into `folder`, replacing entries of those names.

    Anything else is refused, also set-id files and links that point outside the folder. A copy of
    a project keeps such files and links `as_is`: its commit judges them.

    Raises:
        SandboxError: an entry is refused; the message names it.
        OSError: it can't be written.
    """
    with _open_folder(folder) as top:
        unpacking = _Unpacking(folder, top, as_is)
        for entry in read_entries(bundle, bytes_max):
            unpacking.put(entry)
    if not as_is:
        links = _find_links(folder)
        for path, leads_to in links.items():
            if _leads_out(links, path):
                raise SandboxError(f"a link leads out of its folder: {path!r} to {leads_to!r}")


def take_out(folder: Path, name: str) -> None:
    """Remove a file, a link or a folder below `folder`, if it is there.

    Raises:
        SandboxError: a link or dots would point elsewhere.
        OSError: it can't be removed.
    """
    check_name(name)
    with (
        contextlib.suppress(FileNotFoundError),
        _open_folder(folder) as top,
        _open_parent(top, name) as (parent, last),
    ):
        _take_out(folder / name, parent, last)


class _Unpacking:
    def __init__(self, folder: Path, top: int, as_is: bool) -> None:
        self._folder = folder
        self._top = top
        self._as_is = as_is

    def put(self, entry: Entry) -> None:
        """Put one entry in its place.

        Raises:
            SandboxError: it is refused.
            OSError: it can't be written.
        """
        with _open_parent(self._top, entry.name) as (parent, last):
            if stat.S_ISDIR(entry.mode):
                self._put_folder(entry, parent, last)
                return
            self._refuse_unless_plain(entry)
            _take_out(self._folder / entry.name, parent, last)
            if stat.S_ISLNK(entry.mode):
                os.symlink(entry.read_path(), last, dir_fd=parent)
            elif entry.is_again:
                self._link_again(entry, parent, last)
            else:
                _put_file(entry, parent, last)

    def _refuse_unless_plain(self, entry: Entry) -> None:
        if not (stat.S_ISREG(entry.mode) or stat.S_ISLNK(entry.mode)):
            raise SandboxError(f"neither a file, a folder nor a link: {entry.name!r}")
        if stat.S_ISREG(entry.mode) and entry.mode & _SPECIAL_MODES and not self._as_is:
            raise SandboxError(f"a file that changes its user's id (set-id): {entry.name!r}")
        if entry.mtime_ns // 10**9 not in SECONDS and not self._as_is:
            raise SandboxError(f"a time that no file system has: {entry.name!r}")

    def _put_folder(self, entry: Entry, parent: int, last: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(last, dir_fd=parent, follow_symlinks=False).st_mode):
                return
        _take_out(self._folder / entry.name, parent, last)
        os.mkdir(last, dir_fd=parent)

    def _link_again(self, entry: Entry, parent: int, last: str) -> None:
        first = entry.read_path()
        check_name(first)
        with (
            contextlib.suppress(FileNotFoundError),
            _open_parent(self._top, first) as (at, name),
        ):
            if stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                os.link(name, last, src_dir_fd=at, dst_dir_fd=parent, follow_symlinks=False)
                return
        raise SandboxError(f"a second name of something that is not a file: {entry.name!r}")


def _put_file(entry: Entry, parent: int, last: str) -> None:
    target = os.open(last, _NEW, 0o600, dir_fd=parent)
    try:
        entry.copy_to(target)
        os.fchmod(target, entry.mode & 0o777)
        os.utime(target, ns=(entry.mtime_ns, entry.mtime_ns))
    finally:
        os.close(target)


def _take_out(path: Path, parent: int, last: str) -> None:
    """Remove `last` from its open parent; `path` is the same, reached through no link."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(last, dir_fd=parent, follow_symlinks=False).st_mode):
            remove(path)
        else:
            os.unlink(last, dir_fd=parent)


@contextlib.contextmanager
def _open_folder(folder: Path) -> Iterator[int]:
    opened = os.open(folder, FOLDER)
    try:
        yield opened
    finally:
        os.close(opened)


@contextlib.contextmanager
def _open_parent(top: int, name: str) -> Iterator[tuple[int, str]]:
    above, _, last = name.rpartition("/")
    try:
        parent = open_beneath(top, above or ".", os.O_PATH | os.O_DIRECTORY)
    except StepError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise error.__cause__ from error
        raise SandboxError(f"a file's name leads out of its folder: {name!r}") from error
    try:
        yield parent, last
    finally:
        os.close(parent)


def _find_links(folder: Path) -> dict[str, str]:
    """Find all links below a folder: where each leads, by its path there."""
    links, pending = {}, [""]
    while pending:
        prefix = pending.pop()
        with os.scandir(f"{folder}/{prefix}") as entries:
            for entry in entries:
                path = f"{prefix}{entry.name}"
                if entry.is_symlink():
                    links[path] = os.readlink(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    pending.append(f"{path}/")
    return links


def _leads_out(links: Mapping[str, str], path: str) -> bool:
    """Return whether a link leaves the folder that has these `links`, alone or through others.

    A missing entry counts as a folder: it may follow later.
    """
    at: list[str] = []
    rest = path.split("/")[::-1]
    hops = 0
    while rest and hops <= HOPS_MAX:
        part = rest.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not at:
                return True
            at.pop()
            continue
        at.append(part)
        leads_to = links.get("/".join(at))
        if leads_to is None:
            continue
        if leads_to.startswith("/"):
            return True
        hops += 1
        at.pop()
        rest += leads_to.split("/")[::-1]
    return False
