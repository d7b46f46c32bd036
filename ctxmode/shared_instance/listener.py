"""The shared instance: one process with everything loaded, which forks itself for requests.

A hook is answered by a fork, which takes the environment, folder and umask of its command. So it
reads what the command itself would read, and nothing of one request is left for another. Runs are
handed to a server for their environment (`ctxmode.shared_instance.server`), also a fork, which
keeps projects open. This process has one thread and opens no store.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import os
import select
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from base.frames import take_frame
from ctxmode import crash_report
from ctxmode.shared_instance import messages, processes, server

IDLE_S = 600.0
"""An instance that nobody has used for so long ends."""

REQUEST_S_MAX = 5.0
"""Time limit for a request to arrive."""

OFF_S = 600.0
"""Time until a changed setting can start an instance."""

CODE_EVERY_S = 1.0
WAITING_MAX = 64
SERVERS_MAX = 8
"""Maximum number of environments that have a server; further runs work by themselves."""

LOADED = (
    "ctxmode.commands.hook",
    "ctxmode.commands.run",
    "ctxmode.commands.serve",
    "ctxmode.hosts.hooks.run",
    "ctxmode.hosts.hooks.verdicts",
    "ctxmode.hosts.hooks.session_hooks",
    "ctxmode.hosts.instructions",
    "base.secrets",
    "kb.eviction",
    "ctxmode.mcp.stdio",
    "ctxmode.mcp.tools.runs",
    "ctxmode.operations.audit",
    "ctxmode.operations.stores",
    "ctxmode.operations.usage",
    "ctxmode.crash_report",
    "executor.back_ends.cells",
    "executor.run.judge_process",
)
"""Modules of the usual requests; others are loaded by the fork that needs them."""


TRIED = "cd a && git log --oneline | head -n 3; python3 -c 'print(1)' > b"
NOWHERE = "/nonexistent"


@dataclass(slots=True, eq=False)
class _Waiting:
    """A command whose request is still arriving."""

    stream: socket.socket
    until: float
    data: bytearray = field(default_factory=bytearray)


class Listener:
    """The requests that arrive at a socket, and the forks that work on them."""

    def __init__(self, socket_: socket.socket, lock: int, path: str) -> None:
        self._socket = socket_
        self._lock = lock
        self._path = path
        self._woken, self._waking = socket.socketpair()
        self._poll = select.epoll()
        self._poll.register(socket_, select.EPOLLIN)
        self._poll.register(self._woken, select.EPOLLIN)
        self._waiting: dict[int, _Waiting] = {}
        self._servers: dict[server.Key, server.Handle] = {}
        self._own = processes.describe(os.getpid())
        self._code = processes.stamp_code()
        self._takes_runs = processes.leave_folder()
        self._used_at = self._looked_at = time.monotonic()
        self.is_ending = False
        self.is_asked_to_end = False

    def serve(self) -> None:
        """Serve until nobody has asked for IDLE_S, the program's files have changed, or a signal
        asks for the end."""
        self._wake_at_signals()
        while not self.is_ending:
            for descriptor, _ in self._poll.poll(REQUEST_S_MAX):
                if descriptor == self._socket.fileno():
                    self._accept()
                elif descriptor == self._woken.fileno():
                    self._woken.recv(messages.RECEIVE_BYTES)
                elif waiting := self._waiting.get(descriptor):
                    self._receive(waiting)
            self._reap()
            now = time.monotonic()
            for waiting in [one for one in self._waiting.values() if one.until < now]:
                self._drop(waiting)
            is_idle = not self._servers and now > self._used_at + IDLE_S
            self.is_ending = self.is_ending or is_idle or not os.path.exists(self._path)
        self._socket.close()
        for one in self._servers.values():
            one.end(is_asked=self.is_asked_to_end)

    def _wake_at_signals(self) -> None:
        """Wake at the end of a fork, and end at SIGTERM."""

        def end(*_: object) -> None:
            self.is_ending = self.is_asked_to_end = True

        for side in (self._woken, self._waking):
            side.setblocking(False)
        signal.set_wakeup_fd(self._waking.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, end)

    def _accept(self) -> None:
        with suppress(OSError):
            stream, _ = self._socket.accept()
            if len(self._waiting) >= WAITING_MAX or not self._is_current():
                stream.close()
                return
            stream.setblocking(False)
            stream.send(messages.HELLO)
            self._waiting[stream.fileno()] = _Waiting(stream, time.monotonic() + REQUEST_S_MAX)
            self._poll.register(stream, select.EPOLLIN)

    def _is_current(self) -> bool:
        """Return whether the program's files are those that this process has loaded; looks at most
        once in CODE_EVERY_S."""
        if (now := time.monotonic()) > self._looked_at + CODE_EVERY_S:
            self._looked_at = now
            self.is_ending = self.is_ending or processes.stamp_code() != self._code
        return not self.is_ending

    def _receive(self, waiting: _Waiting) -> None:
        try:
            chunk = waiting.stream.recv(messages.RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        waiting.data += chunk
        if not chunk or len(waiting.data) > messages.BYTES_MAX:
            self._drop(waiting)
        elif frame := take_frame(waiting.data):
            self._used_at = time.monotonic()
            try:
                self._take(waiting, frame)
            except (OSError, ValueError, IndexError):  # not a request, or no more processes
                pass
            finally:
                self._drop(waiting)

    def _drop(self, waiting: _Waiting) -> None:
        del self._waiting[waiting.stream.fileno()]
        self._poll.unregister(waiting.stream)
        waiting.stream.close()

    def _take(self, waiting: _Waiting, frame: bytes) -> None:
        asked = messages.CommandLine(frame)
        waiting.stream.setblocking(True)
        is_alike = processes.describe(processes.find_process(waiting.stream)) == self._own
        if is_alike and asked.arguments[:1] == ["hook"]:
            if os.fork() == 0:
                self._answer_hook(waiting.stream, asked)
        elif is_alike and self._takes_runs:
            self._hand_over(waiting, asked, frame)
        else:
            waiting.stream.send(messages.pack(messages.REFUSED))

    def _answer_hook(self, stream: socket.socket, asked: messages.CommandLine) -> None:
        """Answer a hook, in a fork, which ends with it."""
        try:
            self._close_all(stream)
            gc.disable()
            processes.become(asked)
            stream.sendall(messages.pack(messages.DONE, *server.answer_hook(asked)))
        finally:
            os._exit(0)

    def _close_all(self, kept: socket.socket) -> None:
        """Close what belongs to others, in a fork; above all the lock, which it would hold."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(self._lock)
        self._woken.close()
        self._waking.close()
        for waiting in self._waiting.values():
            if waiting.stream is not kept:
                waiting.stream.close()
        for one in self._servers.values():
            one.requests.close()
        self._poll.close()
        self._socket.close()

    def _hand_over(self, waiting: _Waiting, asked: messages.CommandLine, frame: bytes) -> None:
        """Hand a run to the server for its environment; start that if necessary."""
        key = server.find_key(asked)
        found = self._servers.get(key)
        if found is None:
            if len(self._servers) >= SERVERS_MAX:
                waiting.stream.send(messages.pack(messages.REFUSED))
                return
            found = self._servers[key] = self._start(asked)
        try:
            found.send(frame, waiting.stream.fileno())
        except OSError:  # it is ending, or hangs: this and later commands do without it
            self._servers.pop(key).requests.close()

    def _start(self, asked: messages.CommandLine) -> server.Handle:
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                ours.close()
                self._close_all(theirs)
                processes.become(asked)
                server.serve(theirs, IDLE_S)
                code = 0
            except BaseException as error:
                crash_report.report(error)
            finally:
                os._exit(code)
        theirs.close()
        return server.Handle(child, ours)

    def _reap(self) -> None:
        """Forget the forks that have ended."""
        with suppress(ChildProcessError):
            while ended := os.waitpid(-1, os.WNOHANG)[0]:
                for key, one in list(self._servers.items()):
                    if one.process == ended:
                        self._servers.pop(key).requests.close()
                        self._used_at = time.monotonic()


@contextmanager
def _bind(folder: str, name: str) -> Iterator[Listener | None]:
    """Bind the socket of this code's instance; None if another instance has it."""
    os.chdir(folder)  # a socket's path must be short
    lock = os.open(f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield None
        return
    os.ftruncate(lock, 0)
    os.pwrite(lock, b"%d" % os.getpid(), 0)
    _load()
    with suppress(FileNotFoundError):
        os.unlink(f"{name}.sock")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"{name}.sock")
        os.chmod(f"{name}.sock", 0o600)
        bound.listen(WAITING_MAX)
        bound.setblocking(False)
        try:
            yield Listener(bound, lock, f"{folder}/{name}.sock")
        finally:
            with suppress(FileNotFoundError):
                os.unlink(f"{folder}/{name}.sock")


def _load() -> None:
    """Load what the usual requests need, so that its memory is shared with all forks. A command is
    judged for nobody: grammars, patterns and tables are filled at their first use."""
    for name in LOADED:
        importlib.import_module(name)
    from ctxmode.hosts import registry  # noqa: PLC0415 - here and below: loaded just now
    from ctxmode.hosts.hooks import hook_types, verdicts  # noqa: PLC0415
    from ctxmode.operations import audit  # noqa: PLC0415

    for host in registry.HOSTS:
        registry.find_adapter(host)
    call = hook_types.ToolCall("command", "", (TRIED,), os.sep)
    nowhere = hook_types.Ground(NOWHERE, NOWHERE, {})
    list(verdicts.steps(call, nowhere, lambda: False, is_judged=True))
    audit.build_entry("", "shell", TRIED, {"decision": "allow"}, NOWHERE)
    gc.collect()
    gc.freeze()


def main(folder: str, name: str) -> None:
    """Serve at the socket of this name in `folder`, unless an instance with the same code does."""
    with suppress(OSError):
        os.setsid()
    os.closerange(3, 256)  # of the command that started this
    os.umask(0o077)
    if not server.is_enabled():
        until = time.time() + OFF_S  # no command starts another
        os.utime(f"{folder}/{name}.started", (until, until))
        return
    with _bind(folder, name) as listener:
        if listener is not None:
            os.chdir("/")
            listener.serve()
