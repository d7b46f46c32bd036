"""The fork of the shared instance for one environment: it keeps projects open, and does the work of
all `run` and `serve` commands with that environment.

A command's own code works in a thread, whose streams and working folder are the command's. Its
project is open already: see `ctxmode.launch`.
"""

from __future__ import annotations

import io
import os
import signal
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias, TypeVar

import trio

from base.frames import take_frame
from ctxmode import command_line, launch
from ctxmode.errors import ContextModeError
from ctxmode.open_apps import OpenApps
from ctxmode.shared_instance import messages, processes
from executor.run import client_environ

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
DESCRIPTORS_MAX = 4
"""A command's streams, and the journal of a server."""

DRAIN_S_MAX = 30.0
"""Time for active runs to end after the instance was asked to end."""

THREADS_MAX = 256
Key: TypeAlias = tuple[int, frozenset[tuple[str, str]]]
"""A umask, and an environment without UNREAD."""


@dataclass(frozen=True, slots=True)
class Handle:
    """A server as the listener knows it."""

    process: int
    requests: socket.socket

    def send(self, frame: bytes, connection: int) -> None:
        """Hand over a request with its connection; raise OSError if that fails."""
        self.requests.settimeout(HAND_OVER_S_MAX)
        data = messages.pack(frame)
        self.requests.sendall(data[socket.send_fds(self.requests, [data], [connection]) :])

    def end(self, *, is_asked: bool) -> None:
        """Send no more requests. If the user asked for the end, it ends after its active runs, else
        when its last client has gone."""
        if is_asked:
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


STREAMS = ("stdin", "stdout", "stderr")

# Those of the command whose code runs in this context: `sys.stdout` and the others lead to them.
_current: ContextVar[dict[str, IO[str]] | None] = ContextVar("_current", default=None)


_left_open: list[ExitStack] = []
"""Streams of abandoned commands, which close with this process."""


class _ContextStream:
    """A standard stream: that of the command of this context, or of the process."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._own = getattr(sys, name)

    def __getattr__(self, attribute: str) -> object:
        streams = _current.get()
        return getattr(streams[self._name] if streams else self._own, attribute)


def _install_streams() -> None:
    """Replace the standard streams of this process by those of each context."""
    for name in STREAMS:
        setattr(sys, name, _ContextStream(name))


@contextmanager
def _open_streams(descriptors: list[int], errors: str) -> Iterator[dict[str, IO[str]]]:
    """Open the streams of a command as the interpreter opens its own, and close them."""
    with ExitStack() as stack:
        streams: dict[str, IO[str]] = {}
        for name, descriptor in zip(STREAMS, descriptors, strict=True):
            mode = "r" if name == "stdin" else "w"
            handling = "backslashreplace" if name == "stderr" else errors
            by_line = 1 if name == "stderr" or os.isatty(descriptor) else -1
            opened = open(descriptor, mode, by_line, encoding="utf-8", errors=handling)  # noqa: SIM115
            stack.callback(_close, opened)
            streams[name] = opened
        yield streams


def _close(stream: IO[str]) -> None:
    with suppress(OSError, ValueError):  # its reader is gone
        stream.close()


class _Command:
    """A command of another process, while it is worked on here."""

    def __init__(self, stream: trio.SocketStream, apps: OpenApps, ending: trio.Event) -> None:
        self._stream = stream
        self._apps = apps
        self._ending = ending
        self._scope = trio.CancelScope()
        self._signal = signal.SIGTERM
        self._is_acting = self._is_abandoned = False
        self._is_handed_back = False  # the command's process serves its client from now on

    async def carry_out(self, asked: messages.CommandLine) -> None:
        """Carry out a command that still waits for it, and send its exit code."""
        if not os.access(asked.folder, os.X_OK):
            await self._stream.send_all(messages.pack(messages.REFUSED))
            return
        await self._stream.send_all(messages.pack(messages.TAKEN))
        data = bytearray()
        with trio.fail_after(messages.TAKEN_S_MAX):
            received = await _receive(self._stream.socket, data)
        if received is None:
            return  # it has given up, and works by itself
        descriptors = received[1]
        journal = descriptors[3] if len(descriptors) > 3 else None
        with ExitStack() as stack:
            opened = stack.enter_context(_open_streams(descriptors[:3], asked.errors))
            if journal is not None:
                stack.callback(os.close, journal)
            code = None
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._obey, data, nursery.cancel_scope)
                nursery.start_soon(self._beat)
                work = partial(self._work, asked, opened, journal)
                code = await trio.to_thread.run_sync(work, abandon_on_cancel=True)
                nursery.cancel_scope.cancel()
            if code is None:  # a thread still reads or writes, and to close would wait for it
                code = 128 + self._signal
                _left_open.append(stack.pop_all())
        if not self._is_handed_back:
            await self._stream.send_all(messages.pack(messages.DONE, b"%d" % code))

    async def _beat(self) -> None:
        while True:
            await trio.sleep(messages.BEAT_S)
            with suppress(trio.BrokenResourceError):
                await self._stream.send_all(messages.pack(messages.BEAT))

    async def _obey(self, data: bytearray, whole: trio.CancelScope) -> None:
        """Cancel the command at a signal, or if its process is gone. A thread that waits for a
        stream is abandoned."""
        chunk: bytes | bytearray = b"-"
        while chunk:
            try:
                chunk = await self._stream.receive_some()
            except trio.BrokenResourceError:
                chunk = b""
            data += chunk
            frame = take_frame(data)
            if frame:
                self._signal = signal.Signals(int(messages.unpack(frame)[1]))
            if frame or not chunk:
                self._is_abandoned = not self._is_acting
                (self._scope if self._is_acting else whole).cancel()

    def _work(
        self, asked: messages.CommandLine, opened: dict[str, IO[str]], journal: int | None
    ) -> int:
        """Run the command's code in this thread."""
        processes.leave_folder()
        os.chdir(asked.folder)
        os.umask(asked.mask)
        client_environ.set(asked.environ)
        launch.opened.set(self._act)
        ends = opened["stdin"].fileno(), opened["stdout"].fileno()
        launch.served.set(partial(self._serve, ends=ends, journal=journal))
        if asked.arguments[0] == "serve":
            opened = opened | {"stdout": opened["stderr"]}  # the protocol's own
        _current.set(opened)
        return command_line.main(asked.arguments)

    def _act(
        self, config: Config, action: Callable[[App], Awaitable[T]], sole: Request | None
    ) -> T:
        return trio.from_thread.run(self._act_in_trio, config, action, sole)

    async def _act_in_trio(
        self, config: Config, action: Callable[[App], Awaitable[T]], sole: Request | None
    ) -> T:
        with self._acting(), self._scope:
            async with self._apps.lease(config, sole) as app:
                alone = app.for_command(is_listed=sole is None)
                done = await launch.act_with(nullcontext(alone), action)
                await alone.settle()
                return done
        raise self._build_end()

    def _serve(
        self, config: Config, tools: Offer, *, ends: tuple[int, int], journal: int | None
    ) -> None:
        serve = partial(self._serve_in_trio, config, tools, ends, journal)
        trio.from_thread.run(serve)

    async def _serve_in_trio(
        self, config: Config, tools: Offer, ends: tuple[int, int], journal: int | None
    ) -> None:
        from ctxmode.mcp.handover import Beside  # noqa: PLC0415 - only servers need these
        from ctxmode.mcp.stdio import serve_client  # noqa: PLC0415
        from executor import name_local  # noqa: PLC0415

        with self._acting(), self._scope:
            beside = Beside(self._apps, name_local(), self._ending)
            self._is_handed_back = await serve_client(config, tools, ends, journal, beside)
        if self._scope.cancelled_caught:
            raise self._build_end()

    @contextmanager
    def _acting(self) -> Iterator[None]:
        """Mark that the command is in the trio thread, where it can be cancelled."""
        if self._is_abandoned:
            raise self._build_end()
        self._is_acting = True
        try:
            yield
        finally:
            self._is_acting = False

    def _build_end(self) -> BaseException:
        """Return what the signal raises in a command that works by itself."""
        if self._signal == signal.SIGINT:
            return KeyboardInterrupt()
        return SystemExit(128 + self._signal)


class _Server:
    """The commands of one environment."""

    def __init__(self, requests: socket.socket, idle_s: float, apps: OpenApps) -> None:
        self._requests = trio.socket.from_stdlib_socket(requests)
        self._idle_s = idle_s
        self._apps = apps
        self._used_at = trio.current_time()
        self._ending = trio.Event()
        self._receiving = trio.CancelScope()

    async def serve(self) -> None:
        """Serve until nobody has asked for `idle_s`, the listener is gone, or a signal asks for the
        end; then until all commands have ended."""
        async with trio.open_nursery() as outside:
            async with trio.open_nursery() as commands:
                outside.start_soon(self._end_at_signal, commands.cancel_scope)
                with self._receiving:
                    await self._take_requests(commands)
            outside.cancel_scope.cancel()

    async def _take_requests(self, commands: trio.Nursery) -> None:
        while True:
            with trio.move_on_after(self._idle_s):
                received = await _receive(self._requests, bytearray())
                if received is None:
                    return
                commands.start_soon(self._carry_out, *received)
            until = self._used_at + self._idle_s
            if not commands.child_tasks and trio.current_time() > until:
                return

    async def _carry_out(self, frame: bytes, descriptors: list[int]) -> None:
        expected = (OSError, trio.TooSlowError, trio.BrokenResourceError)
        self._used_at = trio.current_time()
        try:
            connection = socket.socket(fileno=descriptors.pop(0))
            async with trio.SocketStream(trio.socket.from_stdlib_socket(connection)) as stream:
                command = _Command(stream, self._apps, self._ending)
                with suppress(*expected):
                    await command.carry_out(messages.CommandLine(frame))
        except Exception as error:  # a defect, which costs this command alone
            from ctxmode import crash_report  # noqa: PLC0415 - only a defect pays for it

            crash_report.report(error)
        finally:
            self._used_at = trio.current_time()

    async def _end_at_signal(self, commands: trio.CancelScope) -> None:
        with trio.open_signal_receiver(signal.SIGTERM) as signals:
            async for _ in signals:
                self._ending.set()
                self._receiving.cancel()
                commands.deadline = trio.current_time() + DRAIN_S_MAX


def serve(requests: socket.socket, idle_s: float) -> None:
    """Serve the commands that the listener hands over, until nobody has sent one for `idle_s`, or
    the listener is gone."""
    for name in UNREAD:
        os.environ.pop(name, None)
    os.chdir("/")
    _install_streams()
    trio.run(_serve, requests, idle_s)


async def _serve(requests: socket.socket, idle_s: float) -> None:
    trio.to_thread.current_default_thread_limiter().total_tokens = THREADS_MAX
    async with OpenApps.open(idle_s) as apps:
        await _Server(requests, idle_s, apps).serve()


async def _receive(
    stream: trio.socket.SocketType, data: bytearray
) -> tuple[bytes, list[int]] | None:
    """Receive a message with descriptors; None if the other side is gone. Bytes of the next message
    stay in `data`."""
    descriptors = list[int]()
    while (frame := take_frame(data)) is None:
        chunk, given, *_ = await stream.recvmsg(
            messages.RECEIVE_BYTES, socket.CMSG_SPACE(DESCRIPTORS_MAX * 4), socket.MSG_CMSG_CLOEXEC
        )
        for level, kind, content in given:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors += struct.unpack(f"{len(content) // 4}i", content)
        if not chunk:
            return None
        data += chunk
    return messages.unpack(frame)[0], descriptors
