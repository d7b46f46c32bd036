"""Calls of sessions: from a checked request to a turn in a box, with the session's packages."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import PurePath

import trio

import runtimes
from executor.engine.box import Box, Layout
from executor.model import Limits, PackagesError, Status
from executor.packages.layers import Packages
from executor.packages.model import Layer, Wanted
from executor.packages.package_request import BROKEN, equip
from executor.request import Caller
from executor.run.capture import READ_BYTES
from executor.run.execution import Execution
from executor.run.progress import RunRecord
from executor.spawner.messages import FromSupervisor, Report
from executor.toolchains.catalog import ProvenToolchain
from runtimes.packages import BY_NAME

# Code in the interpreter can reach its two channels, and forge answers. That deceives only the
# session it runs in: each answer must carry the token of its own call, and any other ends the
# session. A program's output never passes here.

ANSWER_BYTES_MAX = 64
_ANSWER = re.compile(rb"([0-9a-f]+) (\d{1,3})\n")


class ForgedAnswerError(Exception):
    """The data from the interpreter is not an answer to this call."""


InterpreterProgram = tuple[str, ...]
"""One program for an interpreter: its folder or "", the file whose content becomes FILE_CONTENT
or "", its name in tracebacks, its text, and its arguments."""


def _frame(program: InterpreterProgram, token: str) -> bytes:
    """Encode a request as the drivers read it: a line of sizes and then the fields."""
    contents = [text.encode(errors="surrogateescape") for text in program]
    header = " ".join([token, *(str(len(content)) for content in contents)])
    return b"".join([header.encode(), b"\n", *contents])


@dataclass(slots=True)
class SessionDescriptors:
    """The descriptors of a run in a session, and for an interpreter those of its two channels."""

    run: int
    outputs: Mapping[str, trio.lowlevel.FdStream]
    requests: trio.lowlevel.FdStream | None = None
    answers: trio.lowlevel.FdStream | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    async def ask(self, program: InterpreterProgram) -> int | None:
        """Run a program; return its exit code, or None if the interpreter ended with it.

        Raises:
            ForgedAnswerError: the answer is invalid.
        """
        assert self.requests is not None
        assert self.answers is not None
        token = secrets.token_hex(8)
        try:
            await self.requests.send_all(_frame(program, token))
            return await self._answer(self.answers, token.encode())
        except trio.BrokenResourceError:
            return None

    async def _answer(self, answers: trio.lowlevel.FdStream, token: bytes) -> int | None:
        line = b""
        while not line.endswith(b"\n") and len(line) <= ANSWER_BYTES_MAX:
            chunk = await answers.receive_some(ANSWER_BYTES_MAX)
            if not chunk:
                return None
            line += chunk
        answer = _ANSWER.fullmatch(line)
        if answer is None or answer[1] != token or int(answer[2]) > 255:
            raise ForgedAnswerError
        return int(answer[2])

    def close(self) -> None:
        for stream in (*self.outputs.values(), self.requests, self.answers):
            if stream is not None:
                stream.close()


FAREWELL_S_MAX = 1.0  # how long the supervisor may take to end all and report


class Turn:
    """One call, which drains its output and waits for its answer, its exit, or the session's end.

    Afterwards one of four is set: `answer`, the exit code from its interpreter; `end`, how its
    process ended; `ended`, the last report of a session that is over; `failure`, what was lost.
    """

    def __init__(
        self,
        cell: Box,
        channel: SessionDescriptors,
        limits: Limits,
        progress: RunRecord,
        forget: Callable[[int], None],
    ) -> None:
        self.answer: int | None = None
        self.end: FromSupervisor | None = None
        self.ended: Report | None = None
        self.failure = ""
        self._cell = cell
        self._channel = channel
        self._limits = limits
        self._progress = progress
        self._forget = forget
        self._scope = trio.CancelScope()

    @property
    def run(self) -> int:
        """Return the number of the process that serves this call."""
        return self._channel.run

    async def through(self, program: InterpreterProgram | None) -> None:
        """Follow the call to its end, forced at its deadline.

        Raises:
            OSError: the output cannot be spooled.
        """
        with trio.move_on_after(self._limits.wall_s) as deadline, self._scope:
            async with trio.open_nursery() as nursery:
                for name, stream in self._channel.outputs.items():
                    nursery.start_soon(self._drain, name, stream)
                nursery.start_soon(self._listen)
                if program is not None:
                    nursery.start_soon(self._ask, program)
        if deadline.cancelled_caught:
            await self._progress.stop(Status.TIMED_OUT)
            with trio.move_on_after(FAREWELL_S_MAX):
                await self._listen()
            if self.ended is None:
                self.failure = "the supervisor did not report in time and was killed"
        for name, stream in self._channel.outputs.items():
            self._progress.take_rest(name, stream.fileno(), self._limits.output_bytes)

    async def report(self, asked: bytes) -> Report | None:
        """Return the supervisor's report on the call; None if it is lost.

        Raises:
            SandboxError: the cell died.
        """
        if self.ended is not None or self.failure:
            return self.ended
        await self._cell.order(b"report", asked)
        while True:
            message = await self._cell.message()
            if "report" in message:
                return message["report"]
            if not self._take(message):
                return self.ended

    async def _listen(self) -> None:
        """Listen to the supervisor until this call's program or the session is over."""
        while self.end is None and self._take(await self._cell.message()):
            pass
        self._scope.cancel()

    def _take(self, message: FromSupervisor) -> bool:
        """Process a message; return whether the session continues."""
        if message.get("run") == self._channel.run:
            self.end = message
        if "run" in message:
            self._forget(message["run"])
            return True
        self.ended = message.get("ended")
        if self.ended is None:
            self.failure = message.get("error", "the session's supervisor was killed")
        return False

    async def _ask(self, program: InterpreterProgram) -> None:
        try:
            self.answer = await self._channel.ask(program)
            if self.answer is None:  # its exit follows
                await trio.sleep(FAREWELL_S_MAX)
                self.failure = "the program closed its interpreter's channel"
        except ForgedAnswerError:
            self.failure = "the program wrote to its interpreter's channel"
        self._scope.cancel()

    async def _drain(self, name: str, stream: trio.lowlevel.FdStream) -> None:
        progress = self._progress
        while chunk := await stream.receive_some(READ_BYTES):
            progress.take(name, chunk)
            if progress.output_bytes > self._limits.output_bytes and not progress.stopped:
                await progress.stop(Status.OUTPUT_LIMIT)


AGAIN = "start the session again with its packages: they are fetched again"


class SessionPackages:
    """The packages that a call names; in a session's first call, the layer made of them.

    `packages` returns the server's, loaded only if a layer is needed.
    """

    def __init__(
        self,
        packages: Callable[[], Packages],
        wanted: Wanted,
        toolchain: ProvenToolchain,
        caller: Caller,
    ) -> None:
        self.wanted = wanted
        self._packages = packages
        self._toolchain = toolchain
        self._caller = caller
        self._layer: Layer | None = None
        self._is_sound = True
        self._calls = 0

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """Return the paths of the layer that the box shows: on the host, and in the box."""
        return self._layer.shown if self._layer else ()

    @property
    def word(self) -> str:
        """Return the packages' origin for a result: "now" fetched for this call, or "kept"."""
        is_new = self._layer is not None and not self._layer.was_kept
        return "now" if is_new and self._calls == 1 else "kept"

    async def have(self, stack: AsyncExitStack) -> None:
        """Fetch the layer if necessary, and hold it until the stack is closed.

        Raises:
            PackagesError: it cannot be fetched, or the fetch was not approved.
        """
        if self._layer is not None:
            return
        layer = self._packages().layer(self.wanted, self._toolchain, self._caller)
        self._layer = await stack.enter_async_context(layer)

    async def verify(self, *, in_full: bool) -> None:
        """Compare the layer with its seal before a call.

        Raises:
            PackagesError: it was changed since it was fetched.
        """
        assert self._layer is not None
        self._calls += 1
        if self.word == "now":
            return
        self._is_sound = await self._packages().is_sound(self._layer, in_full=in_full)
        if not self._is_sound:
            raise PackagesError(BROKEN, AGAIN)

    async def drop_broken(self) -> None:
        """Remove a layer that differs from its seal, once the session no longer holds it."""
        if self._layer is not None and not self._is_sound:
            await self._packages().drop(self._layer)

    def equip(self, candidate: runtimes.Candidate) -> runtimes.Candidate:
        """Return the candidate with the layer's variables, so that a shell's programs find it, too.

        Executables of the layer replace those of its own languages alone.
        """
        layer = self._layer
        if layer is None:
            return candidate
        is_own = candidate.language.name in BY_NAME[self.wanted.ecosystem].languages
        return equip(candidate, layer if is_own else replace(layer, paths={}, arguments=()))


def make_program(call: Execution, layout: Layout, number: int) -> InterpreterProgram | None:
    """Make the interpreter's program of the session's call of this number; None: it has none."""
    checked, driver = call.checked, call.driver
    if driver is None:
        return None
    source = PurePath(checked.language.source_name)
    name = f"{layout.job}/{source.stem}-{number}{source.suffix}"
    return (
        layout.inside(checked.cwd) if checked.request.cwd is not None else "",
        layout.inside(checked.bind_file) if checked.bind_file else "",
        layout.inside(checked.script) if checked.script else name,
        driver.rewrite(checked.text),
        *checked.request.args,
    )
