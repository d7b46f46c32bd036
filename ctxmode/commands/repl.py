"""Type programs and see what they print, in a session that keeps variables and files.

Python, JavaScript, Ruby, R and shell keep their interpreter; the others start anew and share
scratch files. A line that is not complete (an open bracket, an indented block) goes on, an empty
line ends it, Alt-Enter breaks a line. Ctrl-C stops the program, Ctrl-D leaves.

examples:
  context-mode repl python
  context-mode repl shell --profile build
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial

import trio

from ctxmode import exit_codes
from ctxmode.app import App
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.launch import with_app
from ctxmode.live import LiveOutput
from ctxmode.render import ending, refusal_text
from ctxmode.typing_in import Reader, piped, typed
from executor.model import Request, Status
from runtimes import Language, UnknownLanguage, language

TOLD = (Status.OK, Status.NONZERO_EXIT)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("language", metavar="LANGUAGE")
    parser.add_argument("--profile", default="analyze", metavar="NAME", help="analyze or build")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="of each program")


def run(args: argparse.Namespace) -> int:
    try:
        row = language(args.language)
    except UnknownLanguage as error:
        raise UsageError(str(error), "For example: context-mode repl python") from error
    with_app(args, partial(_converse, row=row, args=args))
    return exit_codes.OK


async def _converse(app: App, row: Language, args: argparse.Namespace) -> None:
    folder = app.config.state_dir / "history"
    read: Reader = typed(row, folder) if sys.stdin.isatty() else piped(sys.stdin)
    request = partial(
        Request, row.name, session="repl", profile=args.profile, timeout_s=args.timeout
    )
    while (code := await read()) is not None:
        if code.strip():
            await _stoppable(partial(_execute, app, request(code)))


async def _execute(app: App, request: Request) -> None:
    """Run one program, its output as it comes; what went wrong is told, and the session goes on."""
    try:
        async with LiveOutput.open(sys.stdout.buffer, sys.stderr.buffer) as output:
            answer = await app.execute(request, on_output=output.feed)
    except ContextModeError as error:
        sys.stderr.write(f"{error}\n")
        return
    result = answer.result
    if result.status in (Status.DENIED, Status.REDIRECTED):
        sys.stderr.write(f"{refusal_text(result)}\n")
    elif result.status not in TOLD:
        sys.stderr.write(f"{ending(result)}\n")
    if result.session and result.session.startswith(("ended", "interpreter", "continued, with")):
        sys.stderr.write(f"session {result.session}\n")


async def _stoppable(action: Callable[[], Awaitable[None]]) -> None:
    """Do it, until Ctrl-C."""
    async with trio.open_nursery() as nursery:

        async def stop_at_interrupt() -> None:
            with trio.open_signal_receiver(signal.SIGINT) as signals:
                async for _ in signals:
                    sys.stderr.write("stopped: what the session held is gone\n")
                    nursery.cancel_scope.cancel()

        nursery.start_soon(stop_at_interrupt)
        await action()
        nursery.cancel_scope.cancel()
