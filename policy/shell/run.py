"""Effects of commands: builtins, functions, and programs by their rows in the table."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from base.wordlist import words
from policy import marks
from policy.model import Command, program_name
from policy.shell import builtins, files
from policy.shell.call import ProgramCall, Runner
from policy.shell.fields import FIELD_BREAK
from policy.shell.file_texts import file_text, only_certain_effects, run_script_text, text_on_disk
from policy.shell.files import REWRITERS
from policy.shell.options import (
    CONSOLES,
    PROGRAMS,
    TABLES,
    UNKNOWN_PROGRAM,
    by_name,
    interpreter,
    parse,
)
from policy.shell.outputs import output_of

if TYPE_CHECKING:
    from policy.shell.state import ShellState
    from policy.shell.syntax import Statement
    from policy.shell.walk import Walk

RECURSION_MAX = 3  # calls of one function inside itself before its arguments count as unknown
# The dynamic loader runs the program it is given.
_LOADER = r"ld-(linux|musl)[\w.-]*\.so[.\d]*|ld\.so[.\d]*"


def run_command(walk: Walk, argv: tuple[str, ...]) -> str:
    """Run a command: a function, a builtin or a program; return what it would print."""
    state = walk.state
    if marks.DECODED_KNOWN in "".join(argv):
        argv = (walk.untrace(argv[0]), *map(marks.untrace, argv[1:]))
    if state.links and "/" in argv[0]:
        argv = (state.resolve(argv[0]), *argv[1:])
    shown = argv
    if argv[0] in ("echo", "printf") and walk.is_visible and marks.FETCHED in "".join(argv):
        for download in walk.findings.captured:
            walk.report(download._replace(reaches_output=True))
    if argv[0] in builtins.DECLARES:
        shown = tuple(word.replace(FIELD_BREAK, " ") for word in argv)
    walk.report(Command(shown, walk.here(), walk.is_syntactic))
    if program_name(argv[0]) is None:
        builtins.run_after_unknown(walk, argv)
    if argv[0] in state.aliases:
        builtins.run_alias(walk, argv)
    if function := state.functions.get(argv[0]):
        return _call(walk, function, argv)
    if handler := builtins.BUILTINS.get(argv[0]):
        output = handler(walk, argv)
        if output is not None:
            return output
    return run_program(walk, argv)


def _call(walk: Walk, function: tuple[Statement, str], argv: tuple[str, ...]) -> str:
    depth = walk.calls.count(argv[0])
    if depth > RECURSION_MAX:
        return marks.LIST
    body, source = function
    state, called = walk.state, walk.findings.called
    parameters = argv[1:] if depth < RECURSION_MAX else (marks.LIST,)
    key = (argv[0], parameters, id(body), state.fingerprint(), walk.stdin, walk.is_visible)
    if key in called:
        output, result, _ = called[key]
        state.take(result)
        return output
    walk.spend(1 + len(state.variables) // 8)
    outer, state.parameters = state.parameters, parameters
    in_place = walk.depth == 0 and source is walk.findings.program
    inner = walk._replace(
        source=source,
        span=None if in_place else walk.span,
        calls=(*walk.calls, argv[0]),
        nesting=(*walk.nesting, f"{argv[0]}()"),
    )
    output = inner.follow(body)
    state.parameters = outer
    called[key] = (output, state.copy(), body)
    return output


def run_program(walk: Walk, argv: tuple[str, ...]) -> str:
    """Run a program other than a builtin; return what it would print."""
    name = _name_of(argv[0], walk.state)
    program = PROGRAMS.get(name, UNKNOWN_PROGRAM)
    if program is _PLAIN and "/" not in argv[0]:
        return output_of(name, argv, walk.stdin, lambda path: file_text(walk, path))
    stops_early = program.runs in _STOPS_AT_OPERAND
    if name in ("tar", "gtar", "bsdtar") and len(argv) > 1 and re.fullmatch(r"[A-Za-z]+", argv[1]):
        argv = (argv[0], f"-{argv[1]}", *argv[2:])  # the old style, without the dash
    elif name == "zip":
        argv = files.spread(argv)
    parsed = parse(
        argv,
        program.short,
        words(program.long),
        permutes=not stops_early,
        long_with_one_dash=program.long_with_one_dash,
    )
    call = ProgramCall(walk, name, argv, program, parsed)
    if program.runs_options:
        for value in parsed.values(words(program.runs_options)):
            call.run_text(value, f"{name} option")
    files.report(call)
    known = interpreter(name)
    where = PROJECT_FILES.get("-m" if known and "modules" in known and "-m" in argv else name)
    is_asked = name not in _NEEDS_WORD or not set(words(_NEEDS_WORD[name])).isdisjoint(argv)
    if where and is_asked and (walk.findings.read_text is not None or walk.state.files):
        from policy.shell.project_files import run_targets  # noqa: PLC0415 - few have targets

        run_targets(call, where)
    if known or name in CONSOLES:
        _run_console(call)
    is_script = "/" in argv[0] and _run_by_path(call, is_known=known is not None)
    output = None
    if known:
        output = _run_interpreter(call, known)
    elif program.runs:
        output = runner(program.runs)(call)
    if is_script:
        return marks.LIST
    if output is not None:
        return output
    return output_of(name, argv, walk.stdin, lambda path: file_text(walk, path))


def _name_of(word: str, state: ShellState) -> str:
    """Return the program's name; for a link or copy that this program made, the original's."""
    if "/" in word and state.links:
        word = state.resolve(word)
    name = (program_name(word) or "").removesuffix(".exe")
    name = name.partition("@")[0] or name  # `prettier@3`
    if name[:1] == "g" and name not in PROGRAMS and name[1:] in PROGRAMS:
        name = name[1:]  # GNU's, next to another system's
    return "ld.so" if name[:2] == "ld" and re.fullmatch(_LOADER, name) else name


def _run_by_path(call: ProgramCall, *, is_known: bool) -> bool:
    """Run a script by its path; return False if it has no text, as with `/bin/sh`. The effects of
    its name count in addition: a script `bin/docker` passes on its arguments."""
    word, findings, state = call.argv[0], call.walk.findings, call.state
    is_known = is_known or call.name in PROGRAMS
    was_partial = findings.is_partial
    if findings.read_text is None and state.resolve(word) not in state.files:
        findings.is_partial |= not is_known
        return False
    is_script = run_script_text(call.inside(), word, call.argv[1:])
    if is_known and not is_script:
        findings.is_partial = was_partial
    else:
        call.inside().report_file(word)
    return is_script


def _run_interpreter(call: ProgramCall, known: dict[str, str]) -> str | None:
    code_names, value_names = words(known.get("code", "")), words(known.get("values", ""))
    names = (*code_names, *value_names)
    parsed = parse(
        tuple("-e" if word == "-pe" and call.name == "node" else word for word in call.argv),
        "".join(name for name in names if len(name) == 1),
        [name for name in names if len(name) > 1],
        permutes=False,
    )
    walk = call.inside()._replace(is_syntactic=False)
    operands = [word for _, word in parsed.operands]
    codes = list(parsed.values(code_names))
    if operands and known.get("eval") == operands[0]:
        codes, operands = [*codes, *operands[1:2]], operands[2:]
    modules = list(parsed.values(words(known.get("modules", ""))))
    if "timeit" in modules:
        codes += _read_timed_code(call.argv)
    for code in codes:
        if call.name.startswith("ipython"):
            for escaped in re.finditer(r"(?m)^\s*!+(.*)", code):
                call.run_text(escaped[1], "ipython !")
        walk.state.parameters = tuple(operands)
        walk.run_code(known["language"], code)
    _run_named(call, operands, modules)
    if codes or modules:
        return marks.DECODED if codes and call.walk.stdin is None else marks.LIST
    if operands and known.get("run") == operands[0]:
        operands = operands[1:]
    path = operands[0] if operands else "-" if call.walk.stdin is not None else None
    if path is None or parsed.has("version", "help", "h", "V") or call.name == "R":
        return None
    text = file_text(call.walk, path)
    walk.state.name = path
    if path in ("-", "/dev/stdin") or path.startswith("/dev/fd/") or text != marks.LIST:
        walk.run_code(known["language"], text)
    elif (on_disk := text_on_disk(walk, path)) is not None:
        with only_certain_effects(walk):
            walk.run_code(known["language"], on_disk)
    return marks.LIST


def _run_named(call: ProgramCall, operands: list[str], modules: list[str]) -> None:
    """Run by another name: `python -m pip` is pip, `bun x` is bunx."""
    if call.name == "bun" and operands[:1] == ["x"]:
        call.run(["bunx", *operands[1:]])
    for index, word in enumerate(call.argv):
        if word in modules and (word in ("pip", "json.tool") or word in REWRITERS):
            call.run(call.argv[index:])
            break


def _run_console(call: ProgramCall) -> None:
    """Run `rails runner code`, `python manage.py shell -c code`: code for a framework's console."""
    names = [word.rpartition("/")[2] for word in call.argv[:2]]
    for language, *before in [CONSOLES[name].split() for name in names if name in CONSOLES]:
        for option, following in pairwise((*call.argv, "")):
            name, is_joined, value = option.partition("=")
            if name in before:
                code = value if is_joined else following
                call.inside().run_code(language, code)


def _read_timed_code(argv: tuple[str, ...]) -> Iterator[str]:
    """Read the code in the operands of `python -m timeit -s setup statement ...`."""
    parsed = parse(argv[argv.index("timeit") :] if "timeit" in argv else (), "nrsu")
    yield from parsed.values(("s", "setup"))
    yield from (word for _, word in parsed.operands)


# The values of `Program.runs`, by the module of this folder with a function `run_…` for it: loaded
# when a command needs it, as most commands need none of them.
RUNNERS: dict[str, str] = {
    kind: module
    for module, kinds in {
        "wrappers": "argv env shell remote xargs parallel texts find fd",
        "embedded_languages": "sed awk make tee ln dd jq language",
        "git": "git",
        "guesses": "guess words container",
        "files": "patch",
        "downloads": "download",
    }.items()
    for kind in kinds.split()
}

# Programs whose settings are a program.
CONFIGURED = words(TABLES["sets"]["configured"])
PROJECT_FILES = by_name(TABLES["project_files"])
_NEEDS_WORD = by_name(TABLES["needs_word"])


@functools.cache
def runner(kind: str) -> Runner:
    """Return the function for the conventions that a row's `runs` names."""
    module = importlib.import_module(f"policy.shell.{RUNNERS[kind]}")
    found: Runner = getattr(module, f"run_{kind}")
    return found


_STOPS_AT_OPERAND = frozenset(("argv", "env"))
_PLAIN = PROGRAMS["true"]  # the row of those that use no file and run nothing
