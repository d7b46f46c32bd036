"""Handing the folder of an order to this machine's worker, over a Unix socket.

The client sends a byte, the order's name and the open folder; the worker reads the order there,
and puts beside it what is handed back. Its answer is one JSON line: {"error": TEXT}, empty if all
went well. A client that goes away ends its run. Both are one user's. Only the standard library is
loaded here: a command does nothing else.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SOCKET_FILE: Final = "worker.sock"
HAND_OVER: Final = b"1"
"""What a client says first; another protocol would say another."""
ANSWER_BYTES_MAX: Final = 1 << 16
_CREDENTIALS = struct.Struct("3i")  # struct ucred of socket(7)


class UndoneError(Exception):
    """An order has no outcome, in the worker's words."""


class NoWorkerError(Exception):
    """No worker of this user listens."""


def hand_to_worker(path: Path, root: Path, name: str) -> None:
    """Have the worker at a socket do the order of a name in a folder, however long it takes.

    Raises:
        NoWorkerError: none listens.
        UndoneError: it has no outcome.
        OSError: the folder can't be opened.
    """
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with _connect(path) as asked:
            try:
                socket.send_fds(asked, [HAND_OVER + os.fsencode(name)], [folder])
                answer = _answer(asked)
            except OSError as error:
                raise UndoneError(f"the worker at {path} went away: {error.strerror}") from error
    finally:
        os.close(folder)
    if answer:
        raise UndoneError(answer)


def check_peer(raw: bytes) -> None:
    """See by a socket's SO_PEERCRED that this user is at the other end.

    Raises:
        PermissionError: another is.
    """
    _, uid, _ = _CREDENTIALS.unpack(raw)
    if uid != os.geteuid():
        raise PermissionError(f"the user {uid} is at the other end")


PEER: Final = (socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
"""What a socket is asked for by `getsockopt`."""


@contextlib.contextmanager
def reachable(path: Path) -> Iterator[str]:
    """A short name for the socket: the kernel takes 107 bytes, and folders may be deep.

    Raises:
        OSError: its folder is not there.
    """
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def received_folders(notes: list[tuple[int, int, bytes]]) -> list[int]:
    """The descriptors that came with a message."""
    received = array.array("i")
    for level, kind, data in notes:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            received.frombytes(data[: len(data) - len(data) % received.itemsize])
    return list(received)


@contextlib.contextmanager
def _connect(path: Path) -> Iterator[socket.socket]:
    """A connection to a worker of this user.

    Raises:
        NoWorkerError: there is none.
    """
    with socket.socket(socket.AF_UNIX) as asked:
        try:
            with reachable(path) as name:
                asked.connect(name)
            check_peer(asked.getsockopt(*PEER))
        except OSError as error:
            raise NoWorkerError(f"{path}: {error.strerror or error}") from error
        yield asked


def _answer(asked: socket.socket) -> str:
    """What the worker says in the end: why there is no outcome, or nothing.

    Raises:
        UndoneError: it ended before, or says something else.
    """
    data = b""
    while not data.endswith(b"\n") and len(data) <= ANSWER_BYTES_MAX:
        if not (piece := asked.recv(ANSWER_BYTES_MAX)):
            raise UndoneError("the worker ended before the order was done")
        data += piece
    try:
        return str(json.loads(data)["error"])
    except (ValueError, KeyError, TypeError) as error:
        raise UndoneError("the worker speaks another protocol") from error
