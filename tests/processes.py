"""Processes of this machine, known by their command lines, also those of other users and tests."""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path

import trio

from executor import LocalEngine

DEADLINE_S = 60
DESCRIPTORS_WAITING = 4  # of a program: its cell's process and socket, and two pipes
_numbers = itertools.count()


def unique_s() -> str:
    """A number of seconds that only one test's program sleeps, whatever runs beside it."""
    return f"9{os.getpid():07}{next(_numbers):02}"


def alive(mark: str) -> list[int]:
    """Processes with `mark` in their command line, where each argument ends with a NUL.

    One that is in the middle of an exec, or dead and not yet reaped, has no command line.
    """
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def descriptors(pid: int | None = None) -> int:
    """How many a process has open: by default this one, and then the listing itself, too."""
    return len(os.listdir(f"/proc/{pid or 'self'}/fd"))


def descriptors_in_use(executor: LocalEngine) -> int:
    """How many this process has open, but for those of programs that wait ahead of their runs."""
    return descriptors() - DESCRIPTORS_WAITING * sum(pool.idle for pool in executor.pools)


async def until_alive(mark: str, count: int) -> None:
    """Wait until there are so many of them."""
    with trio.fail_after(DEADLINE_S):
        while len(alive(mark)) != count:  # noqa: ASYNC110 - other processes tell nobody
            await trio.sleep(0.01)
