"""The server's side of the spawner: start it, ask it for cells, talk to their supervisors."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import trio

from executor.engine.box import UNPRIVILEGED_ID, Exit, LostError
from executor.engine.orders import anonymous_file, read_message, start_with_pipes
from executor.instance.child_processes import SPAWNER, take
from executor.model import SandboxError
from executor.spawner.messages import (
    CELL,
    NAMESPACED_CELL,
    FromSupervisor,
    HandedOver,
    Layers,
    SetUp,
)

MESSAGE_BYTES_MAX = 1 << 20
FDS_MAX = 253  # what the kernel lets one message carry (SCM_MAX_FD)
WRITE_BYTES = 1 << 20
START_S_MAX = 10.0
FAREWELL_S_MAX = 2.0


@dataclass(eq=False)
class Cell:
    """One sandbox, from its making until everything in it is gone."""

    _control: trio.socket.SocketType
    _namespaces: bool
    owner: tuple[int, int]  # uid and gid on the host of what runs in it
    _pidfd: int = -1
    pid: int = -1
    layers: Layers = field(default_factory=Layers)
    handed_over: HandedOver | None = None  # names of the descriptors
    _upper: int | None = None
    _fds: list[int] = field(default_factory=list)
    # Of a program that is held here for its run: the ends of its output by name, and a file in
    # memory if it reads its input.
    readers: dict[str, int] | None = None
    stdin_file: int | None = None

    async def wait_started(self) -> None:
        """Wait until the cell's first process exists; `pid` is its number on the host.

        Raises:
            SandboxError: the spawner could not make it.
        """
        message = await self._receive()
        if "pid" not in message or not self._fds:
            raise SandboxError(str(message.get("unmade", "the spawner ended")))
        self.pid, self._pidfd = message["pid"], self._fds.pop()

    def is_alive(self) -> bool:
        """Return whether its first process is still there."""
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        return not poller.poll(0)

    async def ready(self) -> None:
        """Wait until the described cell is made, ahead of a run; `layers` has the active layers.

        Raises:
            SandboxError: a step of it failed, or the cell died.
        """
        message = await self._receive()
        if "ready" not in message:
            raise SandboxError(str(message.get("error", "the cell ended before it was ready")))
        self.layers = message["ready"]

    async def hold(self, packed: bytes, stdio: Sequence[int]) -> int:
        """Start a program with these descriptors that waits for its run; the memory that it takes.

        Raises:
            SandboxError: it does not come to wait.
        """
        await self.order(b"hold", packed, stdio)
        message = await self._receive()
        if "held" not in message:
            raise SandboxError(str(message.get("error", "the cell ended")))
        return int(message["held"])

    async def start(self, packed: bytes, stdin: bytes | None) -> dict[str, int]:
        """Start the run, by the program that is prewarmed here or a new one.

        Returns the reading ends of its output pipes by name, which are the caller's.

        Raises:
            SandboxError: the cell died.
        """
        if self.readers is None:
            run = partial(self.order, b"run")
            return await start_with_pipes(run, packed, stdin, self.owner)
        if stdin and self.stdin_file is not None:
            for at in range(0, len(stdin), WRITE_BYTES):
                os.pwrite(self.stdin_file, stdin[at : at + WRITE_BYTES], at)
        await self.order(b"run", packed)
        readers, self.readers = self.readers, {}
        return readers

    async def order(self, name: bytes, packed: bytes, fds: Sequence[int] = ()) -> None:
        """Order the supervisor to do something, by a description.

        `make` makes the first process the described cell. `run` starts a run with the descriptors
        from 0 on. The descriptors stay the caller's.

        Raises:
            SandboxError: the cell died.
        """
        file = anonymous_file(packed)
        try:
            await _send_fds(self._control, name, (file, *fds))
        except OSError as error:
            raise SandboxError(f"the cell is gone: {error.strerror}") from error
        finally:
            os.close(file)

    async def stop(self) -> None:
        """Ask the supervisor to end the run and report; the caller bounds the wait."""
        with contextlib.suppress(OSError):
            await self._control.send(b"stop")

    async def exit(self) -> Exit:
        """Return how the run ended.

        Raises:
            LostError: the program that was held for this run had ended before.
            SandboxError: the program could not be started, or the supervisor itself was killed.
        """
        message = await self.message()
        if "lost" in message:
            raise LostError(message["lost"])
        if "exit" not in message:
            raise SandboxError(str(message.get("error", "the cell's supervisor was killed")))
        return Exit(**message["exit"])

    async def message(self) -> FromSupervisor:
        """Return the supervisor's next message; None if it is dead. Earlier data is put aside."""
        while "artifacts" in (message := await self._receive()) and "skipped" in message:
            self.handed_over = message["artifacts"], message["skipped"]
        if message.get("upper") and self._fds:
            self._upper = self._fds.pop()  # it came last
        return message

    def take_upper(self) -> int | None:
        """Return a view's upper layer, which comes with a run's end; the caller closes it."""
        upper, self._upper = self._upper, None
        return upper

    def take_fds(self) -> list[int]:
        """Return the open files of `handed_over`, in its order; the caller closes them."""
        fds, self._fds = self._fds, []
        return fds

    def end(self) -> None:
        """End whatever is left of the cell. Does not wait: see `ended`.

        Killing pid 1 takes its namespace along. Tier B has no such thing: there the supervisor
        must do the killing, and sees the closed socket as the order.
        """
        if self._namespaces:
            self._kill()
        self._control.close()
        upper = self.take_upper()
        for fd in (*self.take_fds(), *(() if upper is None else (upper,))):
            os.close(fd)
        held = (*(self.readers or {}).values(), self.stdin_file)
        self.readers = self.stdin_file = None
        for fd in held:
            if fd is not None:
                os.close(fd)

    async def wait_ended(self) -> None:
        """Wait until the supervisor, and with it everything in the cell, is dead."""
        if self._pidfd < 0:
            return
        with trio.move_on_after(FAREWELL_S_MAX) as deadline:
            await trio.lowlevel.wait_readable(self._pidfd)
        if deadline.cancelled_caught:
            self._kill()
        os.close(self._pidfd)
        self._pidfd = -1

    def _kill(self) -> None:
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    async def _receive(self) -> FromSupervisor:
        space = socket.CMSG_SPACE(4 * FDS_MAX)
        receive = partial(self._control.recvmsg, MESSAGE_BYTES_MAX, space, socket.MSG_CMSG_CLOEXEC)
        try:
            data, ancillary, _, _ = await receive()
        except ConnectionResetError:
            # An order crossed with the supervisor's end and was never read. The kernel says so
            # once, ahead of the message that the supervisor left.
            data, ancillary, _, _ = await receive()
        packed = b"".join(content for _, _, content in ancillary)
        self._fds += memoryview(packed).cast("i")
        return read_message(data, FromSupervisor) if data else {}


class Spawner:
    """A running spawner process. Made by `open_spawner` only."""

    def __init__(self, requests: trio.socket.SocketType, answer: FromSupervisor) -> None:
        self._requests = requests
        self._lock = trio.Lock()
        self.uid: int = answer["uid"]
        self.gid: int = answer["gid"]
        self.staged: Mapping[str, str] = answer["staged"]
        self.refused: Mapping[str, str] = answer["refused"]

    def source(self, path: str) -> str:
        """Return the spawner's path of a host path (as real root: re-bound with mapped IDs)."""
        return self.staged.get(path, path)

    async def start_cell(self, namespaces: bool) -> Cell:
        """Start a new cell whose first process exists, and waits for its description.

        The caller owes it `end` and `ended`.

        Raises:
            SandboxError: it could not be made.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        cell = Cell(trio.socket.from_stdlib_socket(ours), namespaces, (self.uid, self.gid))
        try:
            wanted = NAMESPACED_CELL if namespaces else CELL
            try:
                with theirs:
                    async with self._lock:
                        await _send_fds(self._requests, wanted, (theirs.fileno(),))
            except OSError as error:
                raise SandboxError(f"the spawner is gone: {error.strerror}") from error
            with trio.move_on_after(START_S_MAX) as deadline:
                await cell.wait_started()
            if deadline.cancelled_caught:
                raise SandboxError(f"the spawner did not answer within {START_S_MAX:g} s")
        except BaseException:
            cell.end()
            raise
        return cell


@contextlib.asynccontextmanager
async def open_spawner(stage: Sequence[str], *, as_root: bool) -> AsyncIterator[Spawner]:
    """Start a spawner; as root, one that gives up root permanently.

    `stage` are the paths outside the system folders that cells may be given: root re-binds them
    with its ids mapped, so that an unprivileged process reaches them.

    Raises:
        SandboxError: it did not start.
    """
    process, ours = take(SPAWNER)
    requests = trio.socket.from_stdlib_socket(ours)
    try:
        identity = (UNPRIVILEGED_ID, UNPRIVILEGED_ID) if as_root else None
        setup: SetUp = (list(stage) if as_root else [], identity)
        data = b""
        with trio.move_on_after(START_S_MAX), contextlib.suppress(BrokenPipeError):
            await requests.send(json.dumps(setup).encode())
            data = await requests.recv(MESSAGE_BYTES_MAX)
        answer = read_message(data, FromSupervisor) if data else FromSupervisor()
        if "uid" not in answer:
            raise SandboxError(answer.get("error", "the spawner did not start"))
        yield Spawner(requests, answer)
    finally:
        requests.close()
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(_reap, process)


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Wait for the spawner, which the closed socket ends; otherwise a signal does."""
    try:
        process.wait(FAREWELL_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


async def _send_fds(target: trio.socket.SocketType, message: bytes, fds: Sequence[int]) -> None:
    packed = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)
    await target.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, packed)])
