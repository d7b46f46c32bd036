"""One call under way in a session: whatever ends it first decides how it ended."""

from __future__ import annotations

from collections.abc import Callable

import trio

from executor.engine.box import Box
from executor.model import Limits, Status
from executor.run.capture import READ_BYTES
from executor.run.progress import RunRecord
from executor.sessions.interpreter import ForgedAnswerError, InterpreterProgram, SessionDescriptors
from executor.spawner.messages import FromSupervisor, Report

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
