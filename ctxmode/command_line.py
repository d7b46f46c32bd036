"""The command line: finds the verb, runs it, and reports all errors.

Verbs are a table of modules, imported on use, so that `--version` and hooks start in
milliseconds.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence

from ctxmode import __version__, exit_codes
from ctxmode.errors import ContextModeError, UsageError, unwrap

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


def open_closed_streams() -> None:
    """Open the null device for each standard stream that the caller closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest free descriptor is used: the missing one.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def discard_output() -> None:
    """Discard unwritten output, so that the interpreter's last flush does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def no_space(error: OSError) -> str:
    """Return the message for a full disk."""
    where = f" ({error.filename})" if error.filename else ""
    return f"cannot write: {error.strerror}{where}\n  Free some space, or write to another place."


# Modules stay loaded, so collecting them is wasted: it takes a tenth of a start. Only the command's
# own process may pause the collector.


def pause_collection() -> None:
    """Stop the garbage collector before modules are loaded."""
    gc.disable()


def resume_collection() -> None:
    """Resume the collector for new objects; does nothing if it is not paused."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def end_collection() -> None:
    """Exempt all objects from the last collection of the process."""
    gc.freeze()


TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from contextlib import AbstractContextManager

    from ctxmode.commands.table import Verb


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; no exception leaves it. Without `argv`, this
    process runs only the command and ends after it."""
    open_closed_streams()
    if argv is not None:
        return _main(list(argv))
    pause_collection()
    arguments = sys.argv[1:]
    if arguments[:1] == ["run"] and "--help" not in arguments and "-h" not in arguments:
        from executor.instance import child_processes as starting  # noqa: PLC0415 - runs side by side with the loading

        starting.start_early()
    try:
        return _main(arguments)
    finally:
        end_collection()


def _main(arguments: list[str]) -> int:
    try:
        try:
            code = _dispatch(arguments)
        except SystemExit as done:  # help was shown, or a signal asked to end
            code = done.code if isinstance(done.code, int) else exit_codes.OK
        sys.stdout.flush()
        return code
    except BaseException as raised:
        return _report(unwrap(raised))


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
        arguments = [*rest, "--help"]
        verb, rest = rest[0], arguments[1:]
    if verb == "hook":
        from ctxmode.commands import hook  # noqa: PLC0415 - before what takes time to load

        return hook.main(rest)
    from ctxmode.commands.table import find_verb  # noqa: PLC0415 - a hook does without

    found = find_verb(arguments) or find_verb(_rename(arguments))
    if found is None:
        raise _unknown(arguments)
    return _run_verb(*found)


def _rename(arguments: list[str]) -> list[str]:
    """Replace the former name of a verb, and report the new one."""
    from ctxmode.commands.table import FORMER, find_former  # noqa: PLC0415

    former = find_former(arguments)
    if not former:
        return arguments
    sys.stderr.write(f'context-mode: "{former}" is now "context-mode {FORMER[former]}"\n')
    return [*FORMER[former].split(), *arguments[len(former.split()) :]]


def _unknown(words: list[str]) -> UsageError:
    verb = words[0]
    if verb.startswith("-"):
        return UsageError(
            f"option {verb} comes before the command",
            "Put options after it, for example: context-mode doctor --json",
        )
    from base.wording import list_choices  # noqa: PLC0415 - only a mistake pays for it
    from ctxmode import errors  # noqa: PLC0415
    from ctxmode.commands.table import SECTIONS, list_verbs  # noqa: PLC0415

    known = [one.name.removeprefix(f"{verb} ") for one in list_verbs(verb)]
    if known:
        same = errors.find_same_action(words[1], known)
        instead = errors.command(f"{verb} {same}") if same else ""
        return errors.unknown_action(verb, words[1], known, instead)
    groups = [name for names, _ in SECTIONS.values() for name in names]
    return UsageError(f"unknown command {verb!r}", list_choices(verb, groups))


def _run_verb(verb: Verb, rest: list[str]) -> int:
    from contextlib import nullcontext  # noqa: PLC0415 - `--version` does without

    from ctxmode import parsing  # noqa: PLC0415 - verbs that have no options of their own do without

    parsed = parsing.parse(verb, rest)
    if not verb.loads_more:
        resume_collection()
    bounds: AbstractContextManager[None] = nullcontext()
    budget = getattr(parsed, parsing.BUDGET, None)
    if budget is not None:
        from ctxmode.render.terminal_output import bound_output  # noqa: PLC0415 - few ask for it

        bounds = bound_output(budget, is_json=getattr(parsed, "json", False))
    module = verb.load()
    with bounds:
        if hasattr(module, "OPERATIONS"):
            from ctxmode.commands import operations  # noqa: PLC0415 - few verbs have any

            return operations.run_operation(module, parsed)
        code: int = module.run_verb(parsed)
        return code


def _overview() -> argparse.ArgumentParser:
    import argparse  # noqa: PLC0415

    from ctxmode.commands.table import SECTIONS, VERBS  # noqa: PLC0415

    verbs = "\n\n".join(
        "\n".join(
            [
                f"{title}:",
                *(f"  {name:<8}  {VERBS[name].summary}" for name in names),
                f"  example:  context-mode {example}",
            ]
        )
        for title, (names, example) in SECTIONS.items()
    )
    codes = "\n".join(f"  {code:>3}  {text}" for code, text in exit_codes.MEANINGS.items())
    parser = argparse.ArgumentParser(
        prog="context-mode",
        usage="context-mode VERB [options]   (options and examples: context-mode VERB --help)",
        description=f"Runs code next to your data and returns only the answer.\n\n{verbs}",
        epilog=f"exit codes:\n{codes}",
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
    if isinstance(raised, BrokenPipeError):  # the reader closed the pipe
        discard_output()
        return exit_codes.OK
    if isinstance(raised, OSError) and raised.errno in NO_SPACE:
        discard_output()
        sys.stderr.write(f"context-mode: {no_space(raised)}\n")
        return exit_codes.ERROR
    from ctxmode import crash_report  # noqa: PLC0415 - only a defect pays for it

    sys.stderr.write(crash_report.report(raised))
    return exit_codes.BUG
