"""The spawner's process: started when one is asked for, or ahead, while modules are loaded."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import NamedTuple

SPAWNER = os.path.join(os.path.dirname(__file__), "spawner", "__main__.py")


class Started(NamedTuple):
    """A spawner that waits for its set-up, and the socket to send that through.

    It ends when the socket is closed, if by nothing else with this process.
    """

    process: subprocess.Popen[bytes]
    requests: socket.socket


_ahead: list[Started] = []


def start_ahead() -> None:
    """Start the process that `started` will give out first: its own loading takes 40 ms."""
    _ahead.append(_start())


def started() -> Started:
    """A spawner's process that nobody else has."""
    return _ahead.pop() if _ahead else _start()


def _start() -> Started:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", SPAWNER, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,  # a Ctrl-C at the terminal is for the server to handle
        )
    return Started(process, ours)
