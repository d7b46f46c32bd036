"""Looking through a tree of any names, folder by folder, without following a link."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

DEPTH_MAX = 128
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class OpenFolder(NamedTuple):
    """One folder while it is looked through: its descriptor is closed afterwards.

    `prefix` is its relative path with a slash, or nothing for the top.
    """

    prefix: str
    descriptor: int
    entries: list[os.DirEntry[str]]


def walk(
    top: int, enters: Callable[[str], bool], unreadable: Callable[[str], None]
) -> Iterator[OpenFolder]:
    """Go through every folder from `top` on, before what is in it.

    Each folder below is asked of by path whether to enter it, after its own one was given out.
    One that can't be opened, or lies too deep, is told of.
    """

    def go_through(descriptor: int, prefix: str) -> Iterator[OpenFolder]:
        try:
            with os.scandir(descriptor) as scan:
                entries = list(scan)
            yield OpenFolder(prefix, descriptor, entries)
            for name in sorted(e.name for e in entries if e.is_dir(follow_symlinks=False)):
                path = prefix + name
                if not enters(path):
                    continue
                try:
                    is_near = path.count("/") < DEPTH_MAX
                    inner = os.open(name, FOLDER_FLAGS, dir_fd=descriptor) if is_near else -1
                except OSError:  # not ours to read; or exchanged for something else meanwhile
                    inner = -1
                if inner < 0:
                    unreadable(path)
                else:
                    yield from go_through(inner, f"{path}/")
        finally:
            os.close(descriptor)

    yield from go_through(os.open(".", FOLDER_FLAGS, dir_fd=top), "")
