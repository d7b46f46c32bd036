"""A tree of any names below an open folder: accessed and walked without following links."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

DEPTH_MAX = 128
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


_OpenFolder = tuple[str, int, list[os.DirEntry[str]]]


def walk(
    top: int, enters: Callable[[str], bool], unreadable: Callable[[str], None]
) -> Iterator[_OpenFolder]:
    """Yield every folder from `top` on, before its contents: the relative path with a slash, or ""
    for the top; a descriptor, which is closed afterwards; and the entries.

    `enters` gets the path of each folder below, after the folder that contains it was yielded.
    `unreadable` gets the paths of folders that can't be opened, or are too deep.
    """

    def go_through(descriptor: int, prefix: str) -> Iterator[_OpenFolder]:
        try:
            with os.scandir(descriptor) as scan:
                entries = list(scan)
            yield prefix, descriptor, entries
            for name in sorted(e.name for e in entries if e.is_dir(follow_symlinks=False)):
                path = prefix + name
                if not enters(path):
                    continue
                try:
                    is_near = path.count("/") < DEPTH_MAX
                    inner = os.open(name, FOLDER_FLAGS, dir_fd=descriptor) if is_near else -1
                except OSError:  # no permission; or replaced by something else in the meantime
                    inner = -1
                if inner < 0:
                    unreadable(path)
                else:
                    yield from go_through(inner, f"{path}/")
        finally:
            os.close(descriptor)

    yield from go_through(os.open(".", FOLDER_FLAGS, dir_fd=top), "")


def in_tree_order(path: str) -> str:
    """Return a key that sorts folders before their contents, and those before the next entry."""
    return path.replace("/", "\0")


def split(path: str) -> tuple[str, str]:
    """Return the folder of a path, empty at the top, and its name there."""
    folder, _, name = path.rpartition("/")
    return folder, name


def find_inside(place: str, top: str) -> str:
    """Return the relative path of an absolute one; "" for the top and for paths outside."""
    return place[len(top) + 1 :] if place.startswith(f"{top}/") else ""


class Tree:
    """A folder and all below it, by descriptors: a link on a path is an error, whatever its target.

    Descriptors of the last path's folders stay open, so that access in order is fast.
    """

    def __init__(self, top: int) -> None:
        """Use `top`, a descriptor that the caller closes after this tree."""
        self.top = top
        self._chain: list[tuple[str, int]] = []

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()

    def forget(self, down_to: int = 0) -> None:
        """Close open folders, because the entries reached through them may have moved."""
        while len(self._chain) > down_to:
            with contextlib.suppress(OSError):
                os.close(self._chain.pop()[1])

    def folder(self, path: str) -> int:
        """Return a descriptor of a folder, valid until the next call.

        Raises:
            OSError: it is missing, not a folder, or its path has a link.
        """
        if not path:
            return self.top
        while self._chain and not f"{path}/".startswith(f"{self._chain[-1][0]}/"):
            self.forget(len(self._chain) - 1)
        at, descriptor = self._chain[-1] if self._chain else ("", self.top)
        rest = path[len(at) + 1 :] if at else path
        for name in rest.split("/") if path != at else ():
            if name in ("", ".", ".."):
                raise ValueError(f"not a plain relative path: {path!r}")
            descriptor = os.open(name, FOLDER_FLAGS, dir_fd=descriptor)
            at = f"{at}/{name}" if at else name
            self._chain.append((at, descriptor))
        return descriptor

    def info(self, path: str) -> os.stat_result | None:
        """Return the state of an entry, not of a link's target; None if it can't be reached."""
        folder, name = split(path)
        try:
            return os.stat(name, dir_fd=self.folder(folder), follow_symlinks=False)
        except OSError:
            return None

    def open(self, path: str) -> int:
        """Open a regular file for reading; do not wait for a FIFO's other end.

        Raises:
            OSError: it is missing, a link, or can't be read.
        """
        folder, name = split(path)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        return os.open(name, flags, dir_fd=self.folder(folder))

    @contextlib.contextmanager
    def opened(self, path: str) -> Iterator[int]:
        """Open a file as `open` does, until the block ends."""
        descriptor = self.open(path)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def target(self, path: str) -> str:
        """Return the target of a link, as written.

        Raises:
            OSError: it is not a link.
        """
        folder, name = split(path)
        return os.readlink(name, dir_fd=self.folder(folder))


@contextlib.contextmanager
def open_tree(folder: Path) -> Iterator[Tree]:
    """Open a folder as a tree, for as long as a block lasts.

    Raises:
        OSError: it can't be opened.
    """
    top = os.open(folder, FOLDER_FLAGS)
    try:
        with Tree(top) as tree:
            yield tree
    finally:
        os.close(top)
