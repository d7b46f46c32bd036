"""Work on untrusted text, in a child process that the kernel ends in time.

A grammar's scanner may loop in C for ever, where no exception reaches it, and may run out of
memory. So a text is read by a process that can be lost; its parent always has an answer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from base.frames import take_frame, to_frame

HOOK_SECONDS = 0.2
SECONDS = 1.0
WALL_SECONDS = 8.0  # by the clock: others use the processor, too, and reading may hang
MEMORY_BYTES = 512 << 20  # beyond what a child's parent has
FRAME_BYTES_MAX = 16 << 20  # of the answer of a process that reads such a text
KILL = 9  # the module that names it takes a hook a millisecond to load


def confine() -> None:
    """Limit this process, a child: the kernel ends it once its time or its memory is used up."""
    import signal  # noqa: PLC0415 - here and below: only a child needs them
    from resource import RLIMIT_AS, RLIMIT_CORE, getpagesize, getrlimit, setrlimit  # noqa: PLC0415

    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    setrlimit(RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/statm", "rb") as sizes:
            used = int(sizes.read().split()[0]) * getpagesize()
    except OSError:  # nothing is mounted there
        used = 2 << 30  # more than a parent has
    allowed = [used + MEMORY_BYTES, *(given for given in getrlimit(RLIMIT_AS) if given >= 0)]
    with suppress(OSError, ValueError):  # elsewhere than on Linux
        setrlimit(RLIMIT_AS, (min(allowed), min(allowed)))


def limit(seconds: float) -> None:
    """Limit the processor time left to this process from now on; 0 removes the limit."""
    from signal import ITIMER_PROF, ITIMER_REAL, setitimer  # noqa: PLC0415

    setitimer(ITIMER_PROF, seconds)
    setitimer(ITIMER_REAL, WALL_SECONDS if seconds else 0)


@contextmanager
def pause_limit() -> Iterator[None]:
    """Exclude work that no text causes, such as loading a grammar, from the time limit."""
    from signal import ITIMER_PROF, setitimer  # noqa: PLC0415

    left = setitimer(ITIMER_PROF, 0)
    try:
        yield
    finally:
        setitimer(ITIMER_PROF, *left)


def results_of(steps: Callable[[], Iterable[bytes]], seconds: float) -> list[bytes]:
    """Return the results of some steps, up to the one that ends the child in which they run.

    A step that takes more than its seconds of processor time ends it. The child is a fork, so this
    is for a process of one thread.
    """
    reader, writer = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        raise
    if not child:
        try:
            os.close(reader)
            _work(steps, seconds, writer)
        finally:
            os._exit(0)
    os.close(writer)
    try:
        return list(_frames(reader))
    finally:
        os.close(reader)
        _end(child)


def _work(steps: Callable[[], Iterable[bytes]], seconds: float, writer: int) -> None:
    confine()
    limit(seconds)
    with open(writer, "wb") as results:
        for result in steps():
            limit(0)
            results.write(to_frame(result))
            results.flush()
            limit(seconds)


def _frames(reader: int) -> Iterator[bytes]:
    """Yield the results, until the child ends, or takes too long by the clock for the next."""
    import select  # noqa: PLC0415

    data, until, readable = bytearray(), time.monotonic() + WALL_SECONDS, select.poll()
    readable.register(reader)
    while readable.poll(max(until - time.monotonic(), 0) * 1000):
        if not (chunk := os.read(reader, 1 << 16)):
            return
        data += chunk
        while (frame := take_frame(data)) is not None:
            until = time.monotonic() + WALL_SECONDS
            yield frame
        if len(data) > FRAME_BYTES_MAX:
            return


def _end(child: int) -> None:
    """Reap a child, whatever it does; one that not even a signal ends is left behind."""
    for _ in range(1000):
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        os.kill(child, KILL)
        time.sleep(0.0005)
