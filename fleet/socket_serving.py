"""A worker at its socket: it does the orders that commands of its user hand over."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import socket
import struct
from pathlib import Path
from typing import Final

import trio

from executor.errors import SandboxUnavailableError
from fleet.doer import Doer
from fleet.errors import BlobError, UnreachableError
from fleet.exec_root import do_in_folder
from fleet.keys import KeyFileError
from fleet.seal import SealError
from fleet.worker_socket import (
    ANSWER_BYTES_MAX,
    HAND_OVER,
    PEER,
    check_peer,
    reachable,
    received_folders,
)
from policy import RuleFileError

UNDONE: Final = (
    SealError,
    KeyFileError,
    RuleFileError,
    BlobError,
    UnreachableError,
    SandboxUnavailableError,
    OSError,
)
"""Why an order has no outcome."""
_ASKED_S_MAX = 5.0
_PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED})
_PAUSE_S = 0.1  # where descriptors or memory are short
log = logging.getLogger(__name__)
_NAME_BYTES_MAX = 255


async def serve_orders(
    path: Path,
    doer: Doer,
    leave: trio.Event,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Take orders at a socket until told to leave, and end after the last.

    Raises:
        OSError: it can't be made, or another worker listens there.
    """
    with reachable(path) as name, trio.socket.socket(socket.AF_UNIX) as listener:
        await _clear(name, path)
        await listener.bind(name)
        os.chmod(name, 0o600)
        listener.listen()
        task_status.started()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_accept, listener, doer, nursery)
                await leave.wait()
                _unlink(name)  # who comes now does its order by itself
                listener.close()
        finally:
            _unlink(name)


async def _clear(name: str, path: Path) -> None:
    """Take away the socket that a dead worker left.

    Raises:
        FileExistsError: a living one has it.
    """
    with trio.socket.socket(socket.AF_UNIX) as asked:
        try:
            await asked.connect(name)
        except (FileNotFoundError, ConnectionRefusedError):
            _unlink(name)
        else:
            raise FileExistsError(f"another worker listens at {path}")


def _unlink(name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name)


async def _accept(listener: trio.socket.SocketType, doer: Doer, nursery: trio.Nursery) -> None:
    with contextlib.suppress(trio.ClosedResourceError):
        while True:
            try:
                client, _ = await listener.accept()
            except OSError as error:
                if error.errno not in _PASSING:
                    raise
                await trio.sleep(_PAUSE_S)
                continue
            nursery.start_soon(_serve, client, doer)


async def _serve(client: trio.socket.SocketType, doer: Doer) -> None:
    with client:
        try:
            check_peer(client.getsockopt(*PEER))
            with trio.fail_after(_ASKED_S_MAX):
                handed = await _receive(client)
        except (OSError, trio.TooSlowError):
            return
        why = "it is asked for something else than to do an order"
        if handed is not None:
            folder, name = handed
            try:
                why = await _do_while_there(client, doer, Path(f"/proc/self/fd/{folder}"), name)
            finally:
                os.close(folder)
        text = json.dumps({"error": why[: ANSWER_BYTES_MAX // 8]}).encode() + b"\n"
        with contextlib.suppress(OSError), trio.move_on_after(_ASKED_S_MAX):
            await client.send(text)


async def _do_while_there(client: trio.socket.SocketType, doer: Doer, root: Path, name: str) -> str:
    """Do an order for as long as its client waits; why it was not done."""
    why = "nobody waits for it any more"
    async with trio.open_nursery() as nursery:

        async def end_with_client() -> None:
            with contextlib.suppress(OSError):
                await client.recv(1)
            nursery.cancel_scope.cancel()

        nursery.start_soon(end_with_client)
        try:
            await do_in_folder(doer, root, name)
            why = ""
        except UNDONE as error:
            why = explain(error)
        except Exception as error:  # the next order is another one
            log.exception("an order was not done")
            why = f"a defect of the worker: {type(error).__name__}"
        nursery.cancel_scope.cancel()
    return why


def explain(error: Exception) -> str:
    """Why an order has no outcome, in one line."""
    reason = f"{error.reason}: " if isinstance(error, SealError) else ""
    return " ".join(f"{reason}{error}".split())


async def _receive(client: trio.socket.SocketType) -> tuple[int, str] | None:
    """The folder that a client hands over, and the order's name there; None if it wants else."""
    said, notes, _, _ = await client.recvmsg(
        len(HAND_OVER) + _NAME_BYTES_MAX,
        socket.CMSG_SPACE(struct.calcsize("i")),
        socket.MSG_CMSG_CLOEXEC,
    )
    received = received_folders(notes)
    name = os.fsdecode(said.removeprefix(HAND_OVER))
    if said.startswith(HAND_OVER) and len(received) == 1 and is_name(name):
        return received[0], name
    for descriptor in received:
        os.close(descriptor)
    return None


def is_name(name: str) -> bool:
    """Whether it is the name of a file in a folder."""
    return name not in {"", ".", ".."} and not {"/", "\0"} & set(name)
