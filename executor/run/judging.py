"""Verdicts on programs, from processes that can be lost: a text may stall its reader."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection

import trio

from base.frames import decode, encode, take_frame, to_frame
from executor.instance.child_processes import JUDGE, ChildProcess, take
from executor.run.judge_process import JudgeAnswer, JudgeRequest
from policy import TOO_LARGE, Report, Rules, Subject, Verdict, not_judged
from policy.deadline import FRAME_BYTES_MAX, WALL_SECONDS

JUDGES_MAX = 2  # so that one slow program does not delay others
RECEIVE_BYTES = 1 << 16


class Judges:
    """The judging processes of a server. Made by `open_judges` only."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._idle: list[_Judge] = []
        self._turns = trio.CapacityLimiter(JUDGES_MAX)

    async def verdict(self, subject: Subject, rules: Rules, tools: Collection[str]) -> Verdict:
        """Judge whether a program may run, like `policy.judge`, in bounded time."""
        async with self._turns:
            try:
                # It was idle and did not end by a question, but something else may have ended it.
                while self._idle and self._idle[-1].process.poll() is not None:
                    await self._idle.pop().end()
                if not self._idle:
                    await self.start()
                judge, answer = self._idle.pop(), None
            except (OSError, RuntimeError) as error:  # no process or thread is available
                return _deny(subject, rules, not_judged(self._report(error)))
            try:
                with trio.move_on_after(WALL_SECONDS):
                    answer = await judge.ask(subject, rules, tools)
            finally:
                if answer is not None:
                    self._idle.append(judge)
                else:
                    await judge.end()
            if answer is None:
                with contextlib.suppress(OSError):  # the next caller gets the error
                    await self.start()
        verdict, name, story = answer or (None, judge.defect, "")
        if verdict is not None:
            return verdict
        if not name:
            return _deny(subject, rules, TOO_LARGE)
        defect = RuntimeError(name)
        defect.add_note(story)  # for the log
        return _deny(subject, rules, not_judged(self._report(defect)))

    async def start(self) -> None:
        """Start one more process, to wait for questions."""
        self._idle.append(_Judge(await trio.to_thread.run_sync(take, JUDGE)))

    async def end(self) -> None:
        """End all of them."""
        while self._idle:
            await self._idle.pop().end()


def _deny(subject: Subject, rules: Rules, why: str) -> Verdict:
    from policy import deny_undecided  # noqa: PLC0415 - else only the judges load it

    return deny_undecided(subject.code, rules, why)


class _Judge:
    """One process, and the rules that it has."""

    def __init__(self, one: ChildProcess) -> None:
        self.process, requests = one
        self._socket = trio.socket.from_stdlib_socket(requests)
        self._rules: Rules | None = None

    @property
    def defect(self) -> str:
        """Return the cause of its end, if that was not a signal."""
        code = self.process.returncode
        return f"a judging process ended with exit code {code}" if code > 0 else ""

    async def ask(
        self, subject: Subject, rules: Rules, tools: Collection[str]
    ) -> JudgeAnswer | None:
        """Return its answer; None if it ended at the question, or if the answer is invalid."""
        question: JudgeRequest = (subject, None if rules == self._rules else rules, tools)
        self._rules = rules
        data = bytearray()
        try:
            unsent = memoryview(to_frame(encode(question)))
            while unsent:
                unsent = unsent[await self._socket.send(unsent) :]
            while (frame := take_frame(data)) is None:
                chunk = await self._socket.recv(RECEIVE_BYTES)
                data += chunk
                if not chunk or len(data) > FRAME_BYTES_MAX:
                    return None
            answer: JudgeAnswer = decode(JudgeAnswer, frame)
        except (OSError, ValueError, RecursionError):
            return None
        return answer

    async def end(self) -> None:
        """End it, whatever it is doing."""
        self._socket.close()
        self.process.kill()
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(self.process.wait)


@contextlib.asynccontextmanager
async def open_judges(report: Report, *, prewarm: bool) -> AsyncIterator[Judges]:
    """Open the judges of a server, one of them started ahead; end all when the block ends."""
    judges = Judges(report)
    if prewarm:
        await judges.start()
    try:
        yield judges
    finally:
        await judges.end()
