"""Effects of programs other than builtins: chosen by a row in the table of programs."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from base.wordlist import words
from policy import marks
from policy.model import program_name
from policy.shell import files
from policy.shell.call import ProgramCall, Runner
from policy.shell.files import REWRITERS
from policy.shell.options import CONSOLES, PROGRAMS, UNKNOWN_PROGRAM, interpreter, parse
from policy.shell.outputs import output_of
from policy.shell.redirections import file_text
from policy.shell.script_files import only_certain_effects, run_script_text, text_on_disk
from policy.shell.state import ShellState

if TYPE_CHECKING:
    from policy.shell.state import Frame
    from policy.shell.walk import Walker

# The dynamic loader runs the program it is given.
_LOADER = r"ld-(linux|musl)[\w.-]*\.so[.\d]*|ld\.so[.\d]*"


def run_program(walker: Walker, argv: tuple[str, ...], state: ShellState, frame: Frame) -> str:
    """Run a program other than a builtin; return what it would print."""
    name = _name_of(argv[0], state)
    program = PROGRAMS.get(name, UNKNOWN_PROGRAM)
    if program is _PLAIN and "/" not in argv[0]:
        return output_of(name, argv, frame.stdin, lambda path: file_text(path, state, frame))
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
    call = ProgramCall(walker, name, argv, program, parsed, state, frame)
    if program.runs_options:
        for value in parsed.values(words(program.runs_options)):
            call.run_text(value, f"{name} option")
    files.report(call)
    known = interpreter(name)
    where = PROJECT_FILES.get("-m" if known and "modules" in known and "-m" in argv else name)
    is_asked = name not in _NEEDS_WORD or not _NEEDS_WORD[name].isdisjoint(argv)
    if where and is_asked and (walker.scripts is not None or state.files):
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
    return output_of(name, argv, frame.stdin, lambda path: file_text(path, state, frame))


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
    word, walker, state = call.argv[0], call.walker, call.state
    is_known = is_known or call.name in PROGRAMS
    was_partial = walker.is_partial
    if walker.scripts is None and state.resolve(word) not in state.files:
        walker.is_partial |= not is_known
        return False
    is_script = run_script_text(walker, word, call.argv[1:], state.copy(), call.inside())
    if is_known and not is_script:
        walker.is_partial = was_partial
    else:
        walker.report_file(word, state, call.inside(), is_write=False)
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
    walker, state = call.walker, call.state.copy()
    frame = call.inside()._replace(is_syntactic=False)
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
        state.parameters = tuple(operands)
        walker.run_code(known["language"], code, state, frame)
    _run_named(call, operands, modules)
    if codes or modules:
        return marks.DECODED if codes and call.frame.stdin is None else marks.LIST
    if operands and known.get("run") == operands[0]:
        operands = operands[1:]
    path = operands[0] if operands else "-" if call.frame.stdin is not None else None
    if path is None or parsed.has("version", "help", "h", "V") or call.name == "R":
        return None
    text, state.name = file_text(path, state, call.frame), path
    if path in ("-", "/dev/stdin") or path.startswith("/dev/fd/") or text != marks.LIST:
        walker.run_code(known["language"], text, state, frame)
    elif (on_disk := text_on_disk(walker, path, state)) is not None:
        with only_certain_effects(walker):
            walker.run_code(known["language"], on_disk, state, frame)
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
    for known in [CONSOLES[name] for name in names if name in CONSOLES]:
        for option, following in pairwise((*call.argv, "")):
            name, is_joined, value = option.partition("=")
            if name in known[1:]:
                code = value if is_joined else following
                call.walker.run_code(known[0], code, call.state.copy(), call.inside())


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
CONFIGURED = words("webpack vite rollup jest vitest mocha playwright karma cypress wdio tsup "
                   "esbuild postcss tailwindcss babel metro next nuxt astro")  # fmt: skip

# Programs that run targets of a project's file, by the module of `project_files` that reads it.
PROJECT_FILES: dict[str, str] = {
    name: module
    for module, names in {
        "package_json": "npm yarn pnpm bun npx bunx pnpx node",
        "tasks": "composer deno just task go-task pdm hatch poe rye uv poetry uvx pipx pipenv "
        "pixi mise foreman honcho overmind hivemind goreman pre-commit prek nr nodemon "
        "tox docker podman docker-compose podman-compose turbo nx lerna "
        "run-s run-p npm-run-all start-server-and-test start-test makers air lefthook lint-staged "
        "dvc goreleaser",
        "code_files": "-m nox inv invoke fab rake grunt gulp doit gradle gradlew go cmake cargo "
        "pytest py.test mage fastlane snakemake ansible-playbook terraform tofu pip pip3 "
        + " ".join(CONFIGURED),
    }.items()
    for name in names.split()
}

# Those that run one only if a certain word is given.
_NEEDS_WORD = dict.fromkeys(("docker", "podman"), frozenset(("compose",))) | {
    "go": frozenset(("run", "generate", "test")), "node": frozenset(("--run", ".")),
    **dict.fromkeys(("terraform", "tofu"), frozenset(("apply", "destroy"))),
}  # fmt: skip


@functools.cache
def runner(kind: str) -> Runner:
    """Return the function for the conventions that a row's `runs` names."""
    module = importlib.import_module(f"policy.shell.{RUNNERS[kind]}")
    found: Runner = getattr(module, f"run_{kind}")
    return found


_STOPS_AT_OPERAND = frozenset(("argv", "env"))
_PLAIN = PROGRAMS["true"]  # the row of those that use no file and run nothing
