"""Processes and threads by proc(5), and which ones the kernel ends first if memory runs out."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

# A supervisor that dies before its programs can't undo their effects. A process that is closed to
# ptrace can't open its own score, so this one opens it before; children inherit the score.

SCORE = b"700"


class _Score:
    """This process's own score, once it has been opened."""

    _fd = -1
    _own = b"0"

    def open(self) -> None:
        """Open the score; only possible while this process is dumpable."""
        with contextlib.suppress(OSError):
            fd = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
            self._own = os.pread(fd, 16, 0)
            self._fd = fd

    @contextlib.contextmanager
    def hold_raised(self) -> Iterator[None]:
        """Raise the score of processes forked in this block: the kernel ends them first."""
        if self._fd < 0 or int(self._own) >= int(SCORE):
            yield
            return
        os.pwrite(self._fd, SCORE, 0)
        try:
            yield
        finally:  # a forked process never comes here: it becomes a program, or ends
            os.pwrite(self._fd, self._own, 0)


score = _Score()


def stat(folder: str) -> list[bytes]:
    """Read the kernel's fields of a process or thread, from its state on: proc_pid_stat(5).

    Raises:
        OSError: it has ended.
    """
    with open(f"{folder}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()


def identity(folder: str) -> tuple[int, int, int]:
    """Return a thread's process, its parent and its tracer: proc_pid_status(5).

    Raises:
        OSError: it has ended.
    """
    with open(f"{folder}/status", "rb") as file:
        _, _, rest = file.read().partition(b"\nTgid:")
    fields = dict(line.split(b":", 1) for line in (b"Tgid:" + rest).splitlines())
    return int(fields[b"Tgid"]), int(fields[b"PPid"]), int(fields[b"TracerPid"])


def threads(pid: int) -> list[int]:
    """List the threads of a process.

    Raises:
        OSError: it has ended.
    """
    return [int(name) for name in os.listdir(f"/proc/{pid}/task")]


def listed_descendants(pid: int) -> Iterator[int]:
    """Yield the processes below `pid` from the kernel's lists of children, youngest first.

    Each is found sooner than by `descendants`. While others end, one can be missing; some kernels
    have no such lists: proc_pid_task_children(5).
    """
    found = _listed_children(pid)
    while found:
        child = found.pop()
        yield child
        found += _listed_children(child)


def _listed_children(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in threads(pid):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children += map(int, file.read().split())
    return children


def descendants(pid: int) -> list[int]:
    """List all processes below `pid`: with a subreaper at the top none can leave the tree."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                parent = int(stat(f"/proc/{name}")[1])
                children.setdefault(parent, []).append(int(name))
    found, frontier = [], [pid]
    while frontier:
        frontier = [child for parent in frontier for child in children.get(parent, ())]
        found += frontier
    return found
