"""The fork of the shared instance for one environment: it keeps projects open, and runs the `run`
commands of all processes with that environment.

A command's own code works in a thread, whose streams and working folder are the command's. Its
project is open already: see `ctxmode.launch`.
"""

from __future__ import annotations

import ctypes
import io
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias, TypeVar

import trio

from base.environment import client_environ
from base.frames import take_frame
from ctxmode import command_line, launch
from ctxmode.errors import ContextModeError
from ctxmode.open_apps import OpenApps
from ctxmode.shared_instance import messages

if TYPE_CHECKING:
    from ctxmode.app import App
    from ctxmode.config.locations import Config
    from ctxmode.mcp.server import Offer
    from executor import Request

T = TypeVar("T")

UNREAD = frozenset(
    {
        *("_", "OLDPWD", "PWD", "SHLVL", "CLAUDE_PROJECT_DIR", "XDG_SESSION_ID"),
        *("SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "STY", "TERM_SESSION_ID", "TMUX", "TMUX_PANE"),
        *("KITTY_WINDOW_ID", "WINDOWID", "WT_SESSION"),
    }
)
"""Variables that differ between commands of one user, and that nothing here reads from the process:
`client_environ` has a command's own. `serve` removes them."""

HAND_OVER_S_MAX = 1.0
AT_ONCE = 64
DRAIN_S_MAX = 30.0
"""Time for active runs to end after the instance was asked to end, or is gone."""

CLONE_FS = 0x200

Key: TypeAlias = tuple[int, frozenset[tuple[str, str]]]
"""A umask, and an environment without UNREAD."""


@dataclass(frozen=True, slots=True)
class Handle:
    """A server as the listener knows it."""

    process: int
    requests: socket.socket

    def send(self, frame: bytes, descriptors: list[int]) -> None:
        """Hand over a request with its connection and streams; raise OSError if that fails."""
        self.requests.settimeout(HAND_OVER_S_MAX)
        data = messages.pack(frame)
        self.requests.sendall(data[socket.send_fds(self.requests, [data], descriptors) :])

    def end(self) -> None:
        """Ask for its end, after the active runs."""
        with suppress(OSError):
            os.kill(self.process, signal.SIGTERM)
        self.requests.close()


def find_key(asked: messages.CommandLine) -> Key:
    """Find the server's key for a command."""
    used = ((name, value) for name, value in asked.environ.items() if name not in UNREAD)
    return asked.mask, frozenset(used)


def is_enabled() -> bool:
    """Return whether the user's settings permit a shared instance; a wrong setting does not."""
    from ctxmode.config.locations import load_config  # noqa: PLC0415 - once, at the start
    from ctxmode.config.settings import load_settings  # noqa: PLC0415

    try:
        settings = load_settings(None, load_config(cwd=Path("/")).config_home)
    except (ContextModeError, OSError):
        return False
    return settings.values["instance.shared"] == "auto"


def answer_hook(asked: messages.CommandLine) -> tuple[bytes, bytes, bytes]:
    """Answer a hook's event in this process, which has become the command; return its exit code and
    output."""
    sys.stdin = io.TextIOWrapper(io.BytesIO(asked.given))
    out, error = io.BytesIO(), io.BytesIO()
    sys.stdout = io.TextIOWrapper(out, "utf-8", asked.errors, write_through=True)
    sys.stderr = io.TextIOWrapper(error, "utf-8", "backslashreplace", write_through=True)
    code = command_line.main(asked.arguments)
    return b"%d" % code, out.getvalue(), error.getvalue()


# The streams of the command whose code runs in this context. `sys.stdout` and the others lead there.
_streams: ContextVar[dict[str, IO[str]] | None] = ContextVar("_streams", default=None)


class _ContextStream:
    """A standard stream: that of the command of this context, or of the process."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._own = getattr(sys, name)

    def __getattr__(self, attribute: str) -> object:
        streams = _streams.get()
        return getattr(streams[self._name] if streams else self._own, attribute)


@contextmanager
def _open_streams(descriptors: list[int], errors: str) -> Iterator[dict[str, IO[str]]]:
    """Open the streams of a command, as the interpreter opens its own, and close them."""
    with ExitStack() as stack:
        streams: dict[str, IO[str]] = {}
        for name, descriptor in zip(("stdin", "stdout", "stderr"), descriptors, strict=True):
            mode = "r" if name == "stdin" else "w"
            handling = "backslashreplace" if name == "stderr" else errors
            opened = open(descriptor, mode, encoding="utf-8", errors=handling)  # noqa: SIM115
            if name == "stderr" or (mode == "w" and opened.isatty()):
                opened.reconfigure(line_buffering=True)
            streams[name] = opened
            stack.push(lambda *_, opened=opened: _close(opened))
        yield streams


def _close(stream: IO[str]) -> None:
    with suppress(OSError, ValueError):  # its reader is gone
        stream.close()


class _Command:
    """A command of another process, while it is worked on here."""

    def __init__(self, stream: trio.SocketStream, apps: OpenApps) -> None:
        self._stream = stream
        self._apps = apps
        self._scope = trio.CancelScope()
        self._signal = 0

    async def carry_out(self, asked: messages.CommandLine, descriptors: list[int]) -> None:
        """Carry out a command that still waits for it, and send its exit code."""
        data = bytearray()
        with _open_streams(descriptors, asked.errors) as streams:
            await self._stream.send_all(messages.pack(messages.TAKEN))
            with trio.fail_after(messages.GREETING_S_MAX * 5):
                while (frame := take_frame(data)) is None:
                    if not (chunk := await self._stream.receive_some()):
                        return  # it has given up, and works by itself
                    data += chunk
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._obey, data)
                code = await trio.to_thread.run_sync(self._work, asked, streams)
                nursery.cancel_scope.cancel()
        with suppress(trio.BrokenResourceError):
            await self._stream.send_all(messages.pack(messages.DONE, b"%d" % code))

    async def _obey(self, data: bytearray) -> None:
        """Cancel the command at a signal, or if its process is gone."""
        while True:
            while frame := take_frame(data):
                self._signal = int(messages.unpack(frame)[1])
                self._scope.cancel()
            try:
                chunk = await self._stream.receive_some()
            except trio.BrokenResourceError:
                chunk = b""
            if not chunk:
                self._signal = signal.SIGHUP
                self._scope.cancel()
                return
            data += chunk

    def _work(self, asked: messages.CommandLine, streams: dict[str, IO[str]]) -> int:
        """Run the command's code in this thread."""
        # A thread with its own working folder and umask: see unshare(2).
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_FS) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        os.chdir(asked.folder)
        os.umask(asked.mask)
        client_environ.set(asked.environ)
        launch.opened.set(self._act)
        launch.served.set(partial(self._serve, ends=(streams["stdin"], streams["stdout"])))
        if asked.arguments[0] == "serve":
            streams = streams | {"stdout": streams["stderr"]}  # the protocol's own
        _streams.set(streams)
        return command_line.main(asked.arguments)

    def _act(
        self, config: Config, action: Callable[[App], Awaitable[T]], sole: Request | None
    ) -> T:
        return trio.from_thread.run(self._act_in_trio, config, action, sole)

    async def _act_in_trio(
        self, config: Config, action: Callable[[App], Awaitable[T]], sole: Request | None
    ) -> T:
        with self._scope:
            async with self._apps.lease(config, sole) as app:
                alone = app.for_command(is_listed=sole is None)
                return await launch.act_with(alone, action)
        raise self._build_end()

    def _serve(self, config: Config, tools: Offer, *, ends: tuple[IO[str], IO[str]]) -> None:
        trio.from_thread.run(self._serve_in_trio, config, tools, ends)

    async def _serve_in_trio(
        self, config: Config, tools: Offer, ends: tuple[IO[str], IO[str]]
    ) -> None:
        from ctxmode.mcp.stdio import serve_client  # noqa: PLC0415 - only who serves needs it

        with self._scope:
            await serve_client(config, tools, (ends[0].fileno(), ends[1].fileno()), self._apps)
        if self._scope.cancelled_caught:
            raise self._build_end()

    def _build_end(self) -> BaseException:
        """Return what the signal raises in a command that works by itself."""
        if self._signal == signal.SIGINT:
            return KeyboardInterrupt()
        return SystemExit(128 + self._signal)


def serve(requests: socket.socket, idle_s: float) -> None:
    """Serve the commands that the listener hands over, until nobody has sent one for `idle_s`, or
    the listener is gone."""
    for name in UNREAD:
        os.environ.pop(name, None)
    os.chdir("/")
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, name, _ContextStream(name))
    trio.run(_serve, requests, idle_s)


async def _serve(requests: socket.socket, idle_s: float) -> None:
    used_at, commands = time.monotonic(), set()
    stream = trio.socket.from_stdlib_socket(requests)

    async def carry_out(frame: bytes, descriptors: list[int]) -> None:
        nonlocal used_at
        with suppress(OSError, ValueError, trio.TooSlowError, trio.BrokenResourceError):
            connection = socket.socket(fileno=descriptors[0])
            async with trio.SocketStream(trio.socket.from_stdlib_socket(connection)) as ours:
                asked = messages.CommandLine(frame)
                await _Command(ours, apps).carry_out(asked, descriptors[1:])
        used_at = time.monotonic()
        commands.discard(descriptors[0])

    async with OpenApps.open(idle_s) as apps, trio.open_nursery() as nursery:
        nursery.start_soon(_end_at_signal, nursery.cancel_scope)
        while True:
            with trio.move_on_after(idle_s) as waited:
                received = await _receive(stream)
                if received is None:
                    break
                commands.add(received[1][0])
                nursery.start_soon(carry_out, *received)
            if waited.cancelled_caught and not commands and time.monotonic() > used_at + idle_s:
                break
        with trio.move_on_after(DRAIN_S_MAX):
            while commands:
                await trio.sleep(0.05)
        nursery.cancel_scope.cancel()


async def _end_at_signal(scope: trio.CancelScope) -> None:
    """End at SIGTERM, once the active runs have ended."""
    with trio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()


async def _receive(stream: trio.socket.SocketType) -> tuple[bytes, list[int]] | None:
    """Receive a request with its connection and streams; None if the listener is gone."""
    data, descriptors = bytearray(), []
    while (frame := take_frame(data)) is None:
        chunk, given, *_ = await stream.recvmsg(
            messages.RECEIVE_BYTES, socket.CMSG_SPACE(4 * 4), socket.MSG_CMSG_CLOEXEC
        )
        for level, kind, content in given:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors += struct.unpack(f"{len(content) // 4}i", content)
        if not chunk:
            return None
        data += chunk
    return messages.unpack(frame)[0], descriptors
