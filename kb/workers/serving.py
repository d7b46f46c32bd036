"""Main loop of a worker: read an order, answer; end with the connection, or after long idling.

The kernel limits a parser's time: a timer of processor time whose signal ends the process at any
point. So not even a scanner in an endless loop survives the program that started it.
"""

from __future__ import annotations

import gc
import resource
import signal
import socket
from collections.abc import Callable

from base.frames import receive, send

IDLE_S = 300.0
BASE_S = 5.0
S_PER_BYTE = 5e-6
"""Processor time for one source, some 20 times what real ones take."""

MEMORY_BYTES = 2 * 1024**3
"""A syntax tree takes some fifty times its source, which is bounded: 100 MB."""

GARBAGE_THRESHOLD = 100_000
"""Objects between two searches for garbage that refers to itself. A source makes many objects and
next to no such garbage, and looking through them takes a fifth of the time."""


def serve(connection: socket.socket, answer: Callable[[bytes, bytes], bytes]) -> None:
    """Answer until the other side closes or sends nothing for IDLE_S."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    connection.settimeout(IDLE_S)
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
    while True:
        try:
            header, data = receive(connection), receive(connection)
        except (EOFError, OSError):
            return
        signal.setitimer(signal.ITIMER_PROF, cpu_limit_s(len(data)))
        reply = answer(header, data)
        signal.setitimer(signal.ITIMER_PROF, 0)
        send(connection, reply)


def cpu_limit_s(size: int) -> float:
    """Return the processor time that work on `size` bytes may take."""
    return BASE_S + S_PER_BYTE * size
