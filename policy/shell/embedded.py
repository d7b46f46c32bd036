"""Programs whose own little language, or one of whose options, starts commands."""

from __future__ import annotations

from collections.abc import Iterator

from policy import marks
from policy.paths import resolve
from policy.shell import scripts
from policy.shell.call import Call, Runner
from policy.shell.redirections import STDIN_PATHS, file_text


def _own_language(call: Call) -> str | None:
    """The commands that scripts of sed and awk start."""
    found = scripts.sed_commands if call.program.runs == "sed" else scripts.awk_commands
    for script in _own_scripts(call):
        for text in found(script):
            call.run_text(text, f"{call.name} program")
    return None


def _own_scripts(call: Call) -> Iterator[str]:
    """The script texts on the command line: option values, else the first operand."""
    given = list(call.parsed.values(("e", "expression", "source")))
    for path in call.parsed.values(("f", "file")):
        text = file_text(path, call.state, call.frame)
        given += [text] if marks.is_known(text) else []
    if given or call.parsed.has("f", "file"):
        yield from given
    else:
        yield from call.operands()[:1]


def _make(call: Call) -> str | None:
    from policy.shell.project_files import run_targets  # noqa: PLC0415 - of these make alone has one

    for word in call.operands():
        if word.startswith(("SHELL=", ".SHELLFLAGS=")):
            call.run_text(word.partition("=")[2])
    run_targets(call, "makefile")
    return None


def _tee(call: Call) -> str | None:
    """What is copied to a file can be run from it later."""
    for path in call.operands():
        resolved = resolve(path, call.state.cwd, call.state.links)
        call.state.files[resolved] = call.frame.stdin or marks.LIST
    return None


def _dd(call: Call) -> str | None:
    """`dd of=file`: what it reads can be run from there later."""
    given = dict(word.partition("=")[::2] for word in call.operands())
    text = call.frame.stdin or marks.LIST
    if "if" in given:
        text = file_text(given["if"], call.state, call.frame)
    if "of" in given:
        call.state.files[resolve(given["of"], call.state.cwd, call.state.links)] = text
    return text if "of" not in given else ""


def _ln(call: Call) -> str | None:
    """A link, a copy or a new name stands for what it was made from."""
    operands = call.operands()
    if len(operands) >= 2:
        link = resolve(operands[-1], call.state.cwd, call.state.links)
        if operands[0] in STDIN_PATHS:
            call.state.files[link] = call.frame.stdin or marks.LIST
            return None
        for operand in operands[:-1]:
            target = resolve(operand, call.state.cwd, call.state.links)
            call.state.links[f"{link}/{target.rsplit('/', 1)[-1]}"] = target
            if len(operands) == 2:
                call.state.links[link] = target
    elif operands and call.name == "ln":
        target = resolve(operands[0], call.state.cwd, call.state.links)
        call.state.links[resolve(target.rsplit("/", 1)[-1], call.state.cwd)] = target
    return None


RUNNERS: dict[str, Runner] = {
    "sed": _own_language,
    "awk": _own_language,
    "make": _make,
    "tee": _tee,
    "ln": _ln,
    "dd": _dd,
}
