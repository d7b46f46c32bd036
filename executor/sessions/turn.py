"""One call under way in a session: its interpreter's pipes, and what ends it first."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import trio

from executor.engine.box import Box
from executor.model import Limits, Status
from executor.run.capture import READ_BYTES
from executor.run.progress import RunRecord
from executor.spawner.messages import FromSupervisor, Report

# What runs in the interpreter can reach its two channels, and answer for it. That fools nobody but
# the session it runs in: each answer must carry the token of its own call, and any other ends the
# session. What a program prints never passes here.

ANSWER_BYTES_MAX = 64
_ANSWER = re.compile(rb"([0-9a-f]+) (\d{1,3})\n")


class ForgedAnswerError(Exception):
    """What came from the interpreter is no answer to this call."""


@dataclass(frozen=True, slots=True)
class InterpreterProgram:
    """One program for an interpreter."""

    code: str
    name: str  # what tracebacks call it
    folder: str = ""  # empty: none
    bound: str = ""  # the file whose content becomes FILE_CONTENT; empty: none
    args: tuple[str, ...] = ()

    def frame(self, token: str) -> bytes:
        """The request as the drivers read it: a line of sizes and then the fields."""
        texts = (self.folder, self.bound, self.name, self.code, *self.args)
        contents = [text.encode(errors="surrogateescape") for text in texts]
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
        """Have a program run: its exit code, or None if the interpreter ended with it.

        Raises:
            ForgedAnswerError: something else was answered.
        """
        assert self.requests is not None
        assert self.answers is not None
        token = secrets.token_hex(8)
        try:
            await self.requests.send_all(program.frame(token))
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
    """Drains the program's output and waits for its answer, its exit, or the session's end.

    Afterwards one of four is set. `answer` is the exit code that its interpreter gave, `end` how
    its process ended. `ended` is the last report of a session that is over, `failure` what was
    lost.
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
        """The number of the process that serves this call."""
        return self._channel.run

    async def through(self, program: InterpreterProgram | None) -> None:
        """To the end of the call, brought about at its deadline.

        Raises:
            OSError: the output can't be spooled.
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
        """What the call did and took, as the supervisor saw it; None if it is lost.

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
        """What the supervisor says, until this call's program or the session is over."""
        while self.end is None and self._take(await self._cell.message()):
            pass
        self._scope.cancel()

    def _take(self, message: FromSupervisor) -> bool:
        """Whether the session goes on after this message."""
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
            if self.answer is None:  # its exit is about to be told
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
