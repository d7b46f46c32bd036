"""The command `context-mode`: finds the verb, hands over, and is the one boundary for errors.

Verbs are a table of modules, imported only when asked for, so that `--version` and what runs
inside other programs' loops start in milliseconds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxmode import __version__, exit_codes, garbage
from ctxmode.errors import ContextModeError, UsageError, sole
from ctxmode.render import streams

if TYPE_CHECKING:
    import argparse

VERBS: dict[str, str] = {
    "run": "run a program in the sandbox and show what it prints",
    "repl": "type programs, see what they print and are; variables are kept",
    "changes": "show, apply or forget what runs changed and was kept for you to decide",
    "batch": "run several commands, then search what they printed",
    "index": "make files, folders or stdin searchable",
    "search": "find exact passages in everything that was kept",
    "fetch": "fetch pages and make them searchable",
    "sources": "list what is kept",
    "outputs": "list, read or compare what runs printed",
    "show": "show a kept source, exactly",
    "purge": "forget what is kept, for good",
    "stats": "show what tools produced, returned and kept out of the context",
    "kb": "check, back up or measure the store of what is kept",
    "hook": "answer an event of an agent's host (registered by setup)",
    "setup": "register with an agent's host: its server, its hooks, its rules file",
    "policy": "ask what the rules say of a program, list them, try them, read the log",
    "top": "show what runs now, against its limits, and stop it",
    "stop": "stop a program that runs now",
    "ci": "run a pipeline of steps, each in the sandbox, and report on it",
    "config": "show settings and where each comes from, or start a file of them",
    "completion": "print a script that completes verbs and options in a shell",
    "doctor": "show what works here, and how to get what does not",
    "images": "make, list or remove the container images in which programs run",
    "serve": "serve agents over stdio or HTTP (Model Context Protocol)",
    "try": "see it work on real input of this machine, in under a minute",
}
EPILOG = """\
examples:
  context-mode try
  context-mode run python -c 'print(6 * 7)'
  context-mode run analysis.rb -- --verbose access.log
  git log | context-mode index - --source history
  context-mode search "connection refused"
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns its exit code and never lets an exception out.

    Without `argv` this process is the command's own, and ends behind it.
    """
    streams.open_what_is_closed()
    if argv is not None:
        return _main(list(argv))
    garbage.pause()
    arguments = sys.argv[1:]
    if arguments[:1] == ["run"] and "--help" not in arguments and "-h" not in arguments:
        from executor.instance import child_processes as starting  # noqa: PLC0415 - runs side by side with the loading

        starting.start_ahead()
    try:
        code = _main(arguments)
    finally:
        garbage.end()
    if arguments[:1] == ["hook"]:
        os._exit(code)  # a host waits: taking apart what was loaded is a twentieth of its time
    return code


def _main(arguments: list[str]) -> int:
    try:
        try:
            code = _dispatch(arguments)
        except SystemExit as done:  # help was shown, or a signal asked to end
            code = done.code if isinstance(done.code, int) else exit_codes.OK
        sys.stdout.flush()
        return code
    except BaseException as raised:
        return _report(sole(raised))


def _dispatch(arguments: list[str]) -> int:
    if not arguments:
        _overview().print_help(sys.stderr)
        return exit_codes.USAGE
    verb, rest = arguments[0], arguments[1:]
    if verb in ("--version", "-V"):
        sys.stdout.write(f"context-mode {__version__}\n")
        return exit_codes.OK
    if verb in ("--help", "-h") or arguments == ["help"]:
        sys.stdout.write(_overview().format_help())
        return exit_codes.OK
    if verb == "help":
        verb, rest = rest[0], ["--help"]
    if verb == "hook":
        from ctxmode.commands import hook  # noqa: PLC0415 - before what takes time to load

        return hook.main(rest)
    if verb not in VERBS:
        raise _unknown(verb)
    return _run_verb(verb, rest)


def _unknown(verb: str) -> UsageError:
    if verb.startswith("-"):
        return UsageError(
            f"{verb} stands before the verb",
            "Options come behind it, for example: context-mode doctor --json",
        )
    from ctxmode import suggestions  # noqa: PLC0415 - only a mistake pays for it

    return UsageError(f"unknown verb {verb!r}", suggestions.or_all(verb, VERBS, "Verbs"))


def _run_verb(verb: str, rest: list[str]) -> int:
    from ctxmode import parsing  # noqa: PLC0415 - verbs that have no options of their own do without

    parsed = parsing.parse(verb, rest)
    module = parsing.verb_module(verb)
    if not getattr(module, "LOADS_MORE", False):  # which then calls it itself
        garbage.resume()
    code: int = module.run(parsed)
    return code


def _overview() -> argparse.ArgumentParser:
    import argparse  # noqa: PLC0415

    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {verb:<{width}}  {text}" for verb, text in VERBS.items())
    codes = "\n".join(f"  {code:>3}  {text}" for code, text in exit_codes.MEANINGS.items())
    parser = argparse.ArgumentParser(
        prog="context-mode",
        usage="context-mode VERB [options]   (context-mode VERB --help tells more)",
        description=f"Runs code where the data lives, and hands back only the answer.\n\n{verbs}",
        epilog=f"{EPILOG}\nexit codes:\n{codes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="store_true", help="show the version and exit")
    return parser


def _report(raised: BaseException) -> int:
    if isinstance(raised, ContextModeError):
        from ctxmode.render.highlight import harmless  # noqa: PLC0415 - only an error pays for it

        sys.stderr.write(f"context-mode: {harmless(raised.message)}\n")
        if raised.hint:
            sys.stderr.write(f"  {harmless(raised.hint)}\n")
        return raised.exit_code
    if isinstance(raised, KeyboardInterrupt):
        return exit_codes.INTERRUPTED
    if isinstance(raised, BrokenPipeError):  # the reader of our output has left
        streams.give_up_output()
        return exit_codes.OK
    if isinstance(raised, OSError) and raised.errno in streams.NO_SPACE:
        streams.give_up_output()
        sys.stderr.write(f"context-mode: {streams.no_space(raised)}\n")
        return exit_codes.ERROR
    from ctxmode import crash_report  # noqa: PLC0415 - only a defect pays for it

    sys.stderr.write(crash_report.report(raised))
    return exit_codes.BUG
