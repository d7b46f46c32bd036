"""Programs whose own little language, or one of whose options, starts commands or opens files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from policy import marks
from policy.paths import resolve
from policy.shell import scripts
from policy.shell.call import ProgramCall
from policy.shell.redirections import STDIN_PATHS, file_text


def run_sed(call: ProgramCall) -> str | None:
    """The commands that sed's scripts start, and the files that they open."""
    _run_scripts(call, scripts.find_sed_commands, scripts.find_sed_files)
    return None


def run_awk(call: ProgramCall) -> str | None:
    """The same for awk, where a variable on the command line may name a file, too."""
    _run_scripts(call, scripts.awk_commands, scripts.awk_files)
    values = call.parsed.values(("v", "assign"))
    call.report_files(*(value.partition("=")[2] for value in values))
    return None


def _run_scripts(
    call: ProgramCall,
    commands: Callable[[str], Iterator[str]],
    files: Callable[[str], Iterator[tuple[str, bool]]],
) -> None:
    for script in _own_scripts(call):
        for text in commands(script):
            call.run_text(text, f"{call.name} program")
        for path, is_write in files(script):
            call.report_files(path, is_write=is_write)


def _own_scripts(call: ProgramCall) -> Iterator[str]:
    """The script texts on the command line: option values, else the first operand."""
    given = list(call.parsed.values(("e", "expression", "source")))
    for path in call.parsed.values(("f", "file")):
        text = file_text(path, call.state, call.frame)
        given += [text] if marks.is_known(text) else []
    if given or call.parsed.has("f", "file"):
        yield from given
    else:
        yield from call.operands()[:1]


def run_make(call: ProgramCall) -> str | None:
    """The targets of a makefile, and the shell that the command line names."""
    from policy.shell.project_files import run_targets  # noqa: PLC0415 - of these make alone has one

    for word in call.operands():
        if word.startswith(("SHELL=", ".SHELLFLAGS=")):
            call.run_text(word.partition("=")[2])
    run_targets(call, "makefile")
    return None


def run_tee(call: ProgramCall) -> str | None:
    """What is copied to a file can be run from it later."""
    for path in call.operands():
        resolved = call.state.resolve(path)
        call.state.files[resolved] = call.frame.stdin or marks.LIST
    return None


def run_dd(call: ProgramCall) -> str | None:
    """`dd of=file`: what it reads can be run from there later."""
    given = dict(word.partition("=")[::2] for word in call.operands())
    call.report_files(given.get("if"))
    call.report_files(given.get("of"), is_write=True)
    text = call.frame.stdin or marks.LIST
    if "if" in given:
        text = file_text(given["if"], call.state, call.frame)
    if "of" in given:
        call.state.files[call.state.resolve(given["of"])] = text
    return text if "of" not in given else ""


def run_ln(call: ProgramCall) -> str | None:
    """A link, a copy or a new name stands for what it was made from."""
    operands = call.operands()
    if len(operands) >= 2:
        link = call.state.resolve(operands[-1])
        if operands[0] in STDIN_PATHS:
            call.state.files[link] = call.frame.stdin or marks.LIST
            return None
        for operand in operands[:-1]:
            target = call.state.resolve(operand)
            call.state.links[f"{link}/{target.rsplit('/', 1)[-1]}"] = target
            if len(operands) == 2:
                call.state.links[link] = target
    elif operands and call.name == "ln":
        target = call.state.resolve(operands[0])
        call.state.links[resolve(target.rsplit("/", 1)[-1], call.state.cwd)] = target
    return None


def run_jq(call: ProgramCall) -> str | None:
    """`--rawfile name path`, `--slurpfile name path`; `load("path")` of yq."""
    call.report_files(*re.findall(r"\bload\w*\(\s*\"([^\"]+)", " ".join(call.argv)))
    for index, word in enumerate(call.argv[:-2]):
        if word in ("--rawfile", "--slurpfile"):
            call.report_files(call.argv[index + 2])
    return None
