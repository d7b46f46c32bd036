"""Start of a server's child processes: on demand, or while the server loads its modules."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

ProcessKind = tuple[tuple[str, ...], socket.SocketKind, bool]
"""A kind of process: the interpreter's arguments, the kind of socket that leads to it, and whether
it gets the server's module path."""
ChildProcess = tuple["subprocess.Popen[bytes]", socket.socket]
"""A process that waits for requests, and the socket for them. It ends when the socket is closed, at
the latest with this process."""


_EXECUTOR = os.path.dirname(os.path.dirname(__file__))
SPAWNER: ProcessKind = (
    (os.path.join(_EXECUTOR, "spawner", "__main__.py"),),
    socket.SOCK_SEQPACKET,
    False,
)
_JUDGE = """\
import sys
sys.path[:] = sys.argv[2:]
from executor.run.judge_process import serve
serve(int(sys.argv[1]))
"""
JUDGE: ProcessKind = (("-c", _JUDGE), socket.SOCK_STREAM, True)

_started: dict[ProcessKind, ChildProcess] = {}


def start_early() -> None:
    """Start the processes that `take` gives out first: their own loading takes 40 ms."""
    for kind in (SPAWNER, JUDGE):
        _started[kind] = _start(kind)


def take(kind: ProcessKind) -> ChildProcess:
    """Take a process of a kind that nobody else has."""
    return _started.pop(kind, None) or _start(kind)


def _start(kind: ProcessKind) -> ChildProcess:
    arguments, socket_kind, imports = kind
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket_kind)
    path = map(os.path.abspath, sys.path) if imports else ()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", *arguments, str(theirs.fileno()), *path],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,  # a Ctrl-C at the terminal is for the server to handle
        )
    return process, ours
