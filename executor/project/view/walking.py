"""Looking through a tree of any names, folder by folder, without following a link."""

from __future__ import annotations

import contextlib
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
    """Every folder from `top` on, before what is in it.

    Each folder below is asked of by path whether to enter it, after its own one was given out.
    One that can't be opened, or lies too deep, is told of.
    """
    stack: list[tuple[int, str, list[str]]] = []
    try:
        pending = [(os.open(".", FOLDER_FLAGS, dir_fd=top), "")]
        while pending or stack:
            if pending:
                descriptor, prefix = pending.pop()
                stack.append((descriptor, prefix, []))
                with os.scandir(descriptor) as scan:
                    entries = list(scan)
                yield OpenFolder(prefix, descriptor, entries)
                names = [e.name for e in entries if e.is_dir(follow_symlinks=False)]
                stack[-1][2].extend(sorted(names, reverse=True))
            descriptor, prefix, names = stack[-1]
            if not names:
                os.close(descriptor)
                stack.pop()
                continue
            path = prefix + names.pop()
            if not enters(path):
                continue
            if len(stack) > DEPTH_MAX:
                unreadable(path)
                continue
            try:
                opened = os.open(path[len(prefix) :], FOLDER_FLAGS, dir_fd=descriptor)
            except OSError:  # not ours to read; or exchanged for something else meanwhile
                unreadable(path)
                continue
            pending.append((opened, f"{path}/"))
    finally:
        for descriptor, _, _ in stack:
            with contextlib.suppress(OSError):
                os.close(descriptor)
