"""The verb `run -i`: run programs interactively, in a session that keeps variables."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import partial

from ctxmode import exit_codes, repl
from ctxmode.app import App
from ctxmode.commands.run import ask_consent
from ctxmode.errors import UsageError
from ctxmode.launch import with_app
from ctxmode.render.live_output import waiting
from executor import Caller, Request
from runtimes import Language, UnknownLanguage, language


def run_verb(args: argparse.Namespace) -> int:
    try:
        row = language(args.language)
    except UnknownLanguage as error:
        raise UsageError(str(error), "For example: context-mode run -i python") from error
    with_app(args, partial(_converse, row=row, args=args))
    return exit_codes.OK


async def _converse(app: App, row: Language, args: argparse.Namespace) -> None:
    at_terminal = sys.stdin.isatty()
    request = Request(
        row.name,
        session=repl.NAME,
        profile=args.profile,
        timeout_s=args.timeout,
        interactive=True,
        packages=tuple(args.packages),
    )
    await app.check(replace(request, code="1"), f"repl {row.name}")
    if request.packages:  # a person is asked, and told what is wrong, before they type anything
        caller = Caller(consent=ask_consent, preparing=waiting)
        await app.packages(request, caller)
    if at_terminal:
        repl.say(f"{row.title} in the sandbox: tier {app.tier}, profile {args.profile}")
        repl.say("Ctrl-C stops a program, Ctrl-D leaves, .help lists commands")
        read = repl.build_terminal_reader(row, app.config.state_dir / "history")
    else:
        read = repl.build_pipe_reader(sys.stdin, row)
    await repl.ReplSession(app, request, at_terminal).hold(read)
