"""One session: read a program, run it, tell what went wrong, and go on."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import trio

from ctxmode import exit_codes
from ctxmode.app import App
from ctxmode.errors import ContextModeError, unwrap
from ctxmode.render.highlight import harmless
from ctxmode.render.live_output import LiveOutput
from ctxmode.render.progress_line import waiting
from ctxmode.render.results import ending, refusal_text
from ctxmode.repl import reading
from ctxmode.repl.reading import Reader
from executor import Caller, Request, Result, Status

NAME = "repl"
REACTION_S_MAX = 3.0
"""How long an interpreter may take to stop at Ctrl-C before its session is ended."""
AGAIN_S = 1.0
"""When to interrupt again: a process that was just being forked has missed the first signal."""
CALLER = Caller(preparing=waiting)
_PLAIN = (Status.OK, Status.NONZERO_EXIT)
_CHANGED = ("ended", "interpreter", "continued, with", "started: ")  # what a person has to know


def say(text: str) -> None:
    """Print what no program printed on stderr; it may hold words that a program chose."""
    sys.stderr.write(f"{harmless(text)}\n")
    sys.stderr.flush()


@dataclass(slots=True)
class ReplSession:
    """One session of one language."""

    app: App
    request: Request  # what all its programs have in common
    interruptible: bool
    typed: list[str] = field(default_factory=list)

    async def hold(self, read: Reader) -> None:
        """Read and run programs to the end of what is typed."""
        while (text := await read()) is not None:
            try:
                if reading.is_command(text):
                    name, file = reading.parse(text)
                    if name == ".quit":
                        return
                    await self._obey(name, file)
                elif text.strip():
                    self.typed.append(text)
                    await self._run(replace(self.request, code=text))
            except BaseException as raised:
                error = unwrap(raised)
                if not isinstance(error, ContextModeError):
                    raise
                say(str(error))

    async def _obey(self, name: str, file: str) -> None:
        if name == ".help":
            say(reading.help_text())
        elif name == ".load":
            await self._run(replace(self.request, path=file))
        elif name == ".save":
            say(await trio.to_thread.run_sync(reading.save, self.typed, Path(file)))
        else:
            self.request = replace(self.request, fresh=True)
            say("what comes next starts anew")

    async def _run(self, request: Request) -> None:
        """Run one program and show its output as it comes; Ctrl-C stops it, and if it must, the
        session."""
        self.request = replace(self.request, fresh=False)
        if not self.interruptible:
            await self._execute(request)
            return
        with trio.open_signal_receiver(signal.SIGINT) as signals:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._watch, aiter(signals), nursery.cancel_scope)
                await self._execute(request)
                nursery.cancel_scope.cancel()

    async def _execute(self, request: Request) -> None:
        async with LiveOutput.open(sys.stdout.buffer, sys.stderr.buffer) as output:
            answer = await self.app.execute(request, on_output=output.feed, caller=CALLER)
        _tell(answer.result)

    async def _watch(self, interrupts: AsyncIterator[int], program: trio.CancelScope) -> None:
        """Interrupt the program at Ctrl-C; end the session if it goes on, or at another Ctrl-C."""
        await anext(interrupts)
        if not await self.app.interrupt(NAME):
            say("stopped before it ran")
            program.cancel()
            return
        with trio.move_on_after(REACTION_S_MAX) as waiting:
            with trio.move_on_after(AGAIN_S) as first:
                await anext(interrupts)
            if first.cancelled_caught:
                await self.app.interrupt(NAME)
                await anext(interrupts)
        late = f"it did not stop within {REACTION_S_MAX:g} s, " if waiting.cancelled_caught else ""
        say(f"{late}the session is ended: its variables are gone")
        program.cancel()


def _tell(result: Result) -> None:
    """Say what a person would not see from the output alone."""
    if result.status in (Status.DENIED, Status.REDIRECTED):
        say(refusal_text(result))
    elif result.status not in _PLAIN:
        say(ending(result))
    elif result.exit_code == exit_codes.INTERRUPTED:
        say("interrupted")
    elif result.message:
        say(result.message)
    if result.session and result.session.startswith(_CHANGED):
        say(f"session {result.session}")
