"""The verb `run`: run a program in the sandbox and show its output."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import trio

import runtimes
from base.wording import list_choices
from ctxmode import exit_codes
from ctxmode.app import App
from ctxmode.config.locations import load_config
from ctxmode.config.settings import AMOUNT, UNITS, load_settings
from ctxmode.errors import UsageError, why
from ctxmode.launch import print_json, tell, with_app
from ctxmode.operations.output_folder import deliver, find_unmatched
from ctxmode.parsing import read_input
from ctxmode.render.highlight import harmless, heading, one_line, size
from ctxmode.render.results import (
    BY_VERB,
    answer_text,
    changes_text,
    ending,
    list_refused_acts,
    refusal_text,
    run_notes,
)
from ctxmode.render.terminal_output import LiveOutput, for_stdout, waiting
from executor import Caller, Limits, Request, Status
from executor.run import Answer, first_line
from runtimes import UnknownLanguage, language, language_for_file

LIMIT_NAMES = tuple(limit.name for limit in fields(Limits))


def limits(pairs: Sequence[str], usual: Limits | None = None) -> Limits | None:
    """Apply the options' limits to the usual ones; return None without options. Raise UsageError if
    a limit is unknown, or its value is not a positive number."""
    given: dict[str, float | int] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name not in LIMIT_NAMES:
            hint = list_choices(name, LIMIT_NAMES, cutoff=0.4)
            raise UsageError(f"unknown limit {name!r}", hint)
        given[name] = _amount(name, value)
    try:
        return replace(usual or Limits(), **given) if given else None  # type: ignore[arg-type]
    except ValueError as error:
        raise UsageError(str(error), "Use a positive number.") from error


def _amount(name: str, value: str) -> float | int:
    match = AMOUNT.fullmatch(value.strip())
    if match is None:
        raise UsageError(
            f"invalid limit {name}={value}",
            "Use a positive number, with K, M or G for bytes: --limit memory_bytes=512M",
        )
    amount = float(match[1]) * UNITS[match[2].lower()]
    return amount if name.endswith("_s") else int(amount)


def environment(pairs: Sequence[str]) -> Mapping[str, str]:
    """Return the variables of the options; raise UsageError if one is not NAME=VALUE."""
    given = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise UsageError(
                f"invalid --env {pair!r}", "Use --env NAME=VALUE, such as --env LANG=C."
            )
        given[name] = value
    return given


UNREADABLE = "Name a readable file, or - for stdin."


def run_verb(args: argparse.Namespace) -> int:
    request = build_request(args)
    live = not args.json and args.intent is None
    here = Path.cwd().resolve()
    caller = (
        Caller(consent=ask_consent) if args.json else Caller(consent=ask_consent, preparing=waiting)
    )
    folder = here / args.artifacts_dir
    execute = partial(_execute, request=request, caller=caller, live=live, places=(here, folder))
    answer = with_app(args, execute, sole=request)
    if args.json:
        print_json(answer.to_json())
    elif args.intent is not None:
        sys.stdout.write(for_stdout(answer_text(answer, BY_VERB)) + "\n")
    else:
        _tell(answer)
    result = answer.result
    if unmatched := args.artifact and find_unmatched(args.artifact, result.artifacts):
        tell([f"no file matches --artifact {', '.join(map(repr, unmatched))}"])
    verdict = result.verdict or {}
    if verdict.get("decision") == "ask" and verdict.get("consent") is None:  # nobody could be asked
        return exit_codes.BY_DECISION["ask"]
    return exit_codes.for_run(result.status.value, result.exit_code, result.signal)


def build_request(args: argparse.Namespace) -> Request:
    """Build the request of a command line; raise UsageError without a program, or with two."""
    language, path, code = _program(args)
    return Request(
        language,
        code=code,
        path=_from_here(path),
        bind_file=_from_here(args.bind),
        cwd=_from_here(args.cwd),
        env=environment(args.env),
        stdin=read_input(args.stdin, UNREADABLE) if args.stdin else None,
        args=tuple(args.program_args),
        artifacts=tuple(args.artifact),
        timeout_s=args.timeout,
        limits=limits(args.limit, _usual_limits(args)) if args.limit else None,
        drain=args.drain,
        profile=args.profile,
        stage=args.stage,
        packages=tuple(args.packages),
        intent=args.intent,
    )


def _usual_limits(args: argparse.Namespace) -> Limits:
    config = load_config(args.project)
    return load_settings(config.project, config.config_home).limits


def _from_here(name: str | None) -> str | None:
    """Resolve a path from this folder, as the shell does, not from the run's cwd."""
    return None if name is None else str(Path.cwd() / name)


def _program(args: argparse.Namespace) -> tuple[str, str | None, str | None]:
    """Return the language, and either the path or the code."""
    if args.code is not None:
        if args.file is not None:
            raise UsageError("-c and a file exclude each other", "Remove one of them.")
        return args.target, None, args.code
    if args.file is None and not _is_file(args.target):
        _must_be_language(args.target)
    if args.file == "-" or (
        args.file is None and not sys.stdin.isatty() and not _is_file(args.target)
    ):
        return args.target, None, _text(read_input("-", UNREADABLE))
    if args.file is not None:
        return args.target, args.file, None
    if not _is_file(args.target):
        raise UsageError(
            f"missing program: {args.target!r} is not a file",
            f"Use: context-mode run {args.target} FILE, or -c CODE, or pipe the program in.",
        )
    try:
        return language_for_file(Path(args.target)).name, args.target, None
    except (UnknownLanguage, OSError) as error:
        hint = f"Name the language: context-mode run LANGUAGE {args.target}"
        raise UsageError(f"cannot run {args.target}: {why(error)}", hint) from error


def _must_be_language(target: str) -> None:
    try:
        language(target)
    except UnknownLanguage as error:
        raise UsageError(
            f"no such file or language: {target}",
            list_choices(target, (row.name for row in runtimes.LANGUAGES)),
        ) from error


def _is_file(target: str) -> bool:
    try:
        return Path(target).exists()
    except (OSError, ValueError):
        return False


def _text(code: bytes) -> str:
    try:
        return code.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the program is not UTF-8: byte {error.start} is {code[error.start]:#04x}",
            "Convert the program, for example with iconv -t UTF-8.",
        ) from error


async def ask_consent(verdict: Mapping[str, Any]) -> bool | None:
    """Ask the user at the terminal; return None without a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    sys.stderr.write(f"context-mode: {harmless(verdict['message'])}\nRun it? [y/N] ")
    sys.stderr.flush()
    answer = await trio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
    return answer.strip().lower() in ("y", "yes")


async def _execute(
    app: App, request: Request, caller: Caller, live: bool, places: tuple[Path, Path]
) -> Answer:
    """Run the program; `places` are the working folder and the folder of artifacts. This may be
    another process than the command's, which works elsewhere."""
    project, (here, folder) = app.config.project, places
    # Without one it runs in this folder, or, from outside of the project, in the project's own.
    if request.cwd is None and here.is_relative_to(project):
        request = replace(request, cwd=str(here))
    # The name of the output in `kept outputs`, if it is stored.
    name = Path(request.path).name if request.path else first_line(request.code or "")
    execute = partial(app.execute, request, name=name, caller=caller)
    if live:
        async with LiveOutput.open(sys.stdout.buffer, sys.stderr.buffer) as output:
            answer = await execute(on_output=output.feed)
    else:
        answer = await execute()
    if not answer.result.artifacts:
        return answer
    return deliver(answer, folder, project, request.artifacts)


def _tell(answer: Answer) -> None:
    """Report on stderr what the output does not show."""
    result = answer.result
    if result.status in (Status.DENIED, Status.REDIRECTED):
        sys.stderr.write(f"context-mode: {harmless(refusal_text(result))}\n")
    elif result.status not in (Status.OK, Status.NONZERO_EXIT):
        sys.stderr.write(f"context-mode: {one_line(ending(result))}\n")
    elif result.message:
        sys.stderr.write(f"context-mode: {one_line(result.message)}\n")
    for note in (*run_notes(result), *filter(None, [answer.note])):
        sys.stderr.write(f"context-mode: {one_line(note)}\n")
    if sys.stderr.isatty() and result.changed_files:
        sys.stderr.write(f"context-mode: {one_line(changes_text(result))}\n")
    if sys.stderr.isatty() and answer.kept is not None:
        kept = f"{size(answer.kept.bytes_total)} stored"
        sys.stderr.write(f"context-mode: {kept}: {BY_VERB.format(answer.kept.output_id)}\n")
    # A traceback is printed before refusals are known; holding it back would hide the output of
    # programs that continue. So refusals come last, next to the prompt and where `tail -n 1` is.
    is_bold = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    for line in list_refused_acts(result):
        text = f"context-mode: {one_line(line)}"
        sys.stderr.write(f"{heading(text) if is_bold else text}\n")
