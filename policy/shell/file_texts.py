"""Texts of files: redirected, made by the program itself, or readable on the disk and run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from base.wordlist import word_set
from policy import marks
from policy.model import Command, Download, Effect, FileAccess, program_name
from policy.shell.expand import expand_fields, expand_text
from policy.shell.options import SILENT_SINKS, interpreter
from policy.shell.state import ShellState
from policy.shell.syntax import CompoundCommand, Redirection, Simple, Statement

if TYPE_CHECKING:
    from policy.shell.walk import Walk

_TO_TERMINAL = word_set("/dev/stdout /dev/stderr /dev/tty /dev/fd/1 /dev/fd/2")
STDIN_PATHS = word_set("- /dev/stdin /dev/fd/0 /proc/self/fd/0")


def redirect(
    walk: Walk, words: Walk, redirections: Sequence[Redirection], argv: tuple[str, ...]
) -> tuple[Walk, list[tuple[str, bool]]]:
    """Return the command's walk, and the files its stdout goes to (path, appends). The targets are
    expanded by the walk through its words."""
    targets: list[tuple[str, bool]] = []
    for item in redirections:
        if item.operator in ("<<", "<<-", "<<<"):
            text = expand_text(words, item.target.parts)
            if item.fd in ("", "0"):
                walk = walk._replace(stdin=text + "\n" if item.operator == "<<<" else text)
            continue
        for fields in expand_fields(words, item.target):
            for target in fields:
                if item.operator in (">&", "<&") and re.fullmatch(r"\d*-?", target):
                    walk = _duplicate(walk, item, target)
                elif item.operator in ("<", "<>", "<&"):
                    walk = _read(walk, item, target, argv)
                elif target not in _TO_TERMINAL:
                    _report(walk, item, target, argv, is_write=True)
                    if item.fd in ("", "1") or item.operator.startswith("&"):
                        targets.append((target, item.operator.endswith(">>")))
                        walk = walk.hidden()
    return walk, targets


def _duplicate(walk: Walk, item: Redirection, target: str) -> Walk:
    if item.operator == "<&" and item.fd in ("", "0") and target not in ("-", "0"):
        return walk._replace(stdin=marks.LIST)
    if item.operator == ">&" and item.fd in ("", "1") and target == "-":
        return walk.hidden()
    return walk


def _read(walk: Walk, item: Redirection, target: str, argv: tuple[str, ...]) -> Walk:
    _report(walk, item, target, argv, is_write=item.operator == "<>")
    if item.fd not in ("", "0"):
        return walk
    stdin = file_text(walk, target)
    if stdin == marks.LIST and argv[:1] in (("patch",), ("git",)):
        stdin = text_on_disk(walk, target) or stdin
    return walk._replace(stdin=stdin)


def _report(
    walk: Walk, item: Redirection, target: str, argv: tuple[str, ...], *, is_write: bool
) -> None:
    if walk.span is None:
        place = walk.place(item.start, item.end)
        walk = walk._replace(span=place.span, text=place.text)
    walk.report_file(target, is_write=is_write, argv=argv)


def store(output: str, targets: Sequence[tuple[str, bool]], state: ShellState) -> str:
    """Remember the text that went to files; a command whose stdout is redirected prints nothing."""
    for target, appends in targets:
        path = state.resolve(target)
        before = state.files.get(path, "") if appends else ""
        state.files[path] = (before + output)[: 1 << 16]
    return "" if targets else output


def file_text(walk: Walk, path: str) -> str:
    """Return the text of a file, if this program made it; else unknown."""
    state = walk.state
    if path in STDIN_PATHS:
        return walk.stdin if walk.stdin is not None else marks.LIST
    if not state.files:
        return marks.LIST
    return state.files.get(state.resolve(path), marks.LIST)


def is_silent(stage: Statement) -> bool:
    """Return whether a pipeline stage hides all its input from the terminal."""
    if isinstance(stage, Simple | CompoundCommand):
        for item in stage.redirections:
            if item.operator in (">", ">>", ">|", "&>", "&>>") and item.fd in ("", "1"):
                return True
    if not isinstance(stage, Simple) or not stage.words or not stage.words[0].parts:
        return False
    given = ["".join(getattr(part, "text", "") for part in word.parts) for word in stage.words]
    while len(given) > 1 and (given[0] == "sudo" or given[0][:1] == "-"):
        given.pop(0)
    name, *rest = given
    only_counts = any(re.fullmatch(r"-[a-zA-Z]*[qc]\w*|--(quiet|silent|count)", w) for w in rest)
    name = name.rsplit("/", 1)[-1]
    if interpreter(name) and (not rest or rest[0] == "-"):
        return True  # it is run
    return name in SILENT_SINKS or (name in ("grep", "egrep", "rg") and only_counts)


def text_on_disk(walk: Walk, path: str) -> str | None:
    """Return a script file's text; None if it may not be read or was run before."""
    findings, path, text = walk.findings, walk.state.resolve(path), None
    if findings.read_text is not None:
        if path in findings.seen:
            return None
        findings.seen.add(path)
        text = findings.read(path)
    walk.report_partial(text is None)
    return text


@contextmanager
def only_certain_effects(walk: Walk) -> Iterator[None]:
    """Count only certain effects of a file on the disk. It was written for its own purpose, so
    unknown parts are not suspicious."""
    findings = walk.findings
    before = dict(findings.effects)
    yield
    new = [_in_file(effect) for effect in findings.effects if effect not in before]
    certain = [effect for effect in new if _is_certain(effect)]
    walk.report_partial(len(certain) < len(new))
    findings.effects = before | dict.fromkeys(certain)


def _in_file(effect: Effect) -> Effect:
    return effect._replace(in_file=True) if isinstance(effect, Command) else effect


def _is_certain(effect: Effect) -> bool:
    if isinstance(effect, Command):
        return marks.is_known(effect.argv[0])
    return isinstance(effect, Download) or (
        isinstance(effect, FileAccess) and marks.is_known(effect.path)
    )


def run_script_file(walk: Walk, path: str, parameters: tuple[str, ...]) -> None:
    """Run a shell script by path: its text if that is known, else only the reading of it."""
    walk.report_file(path)
    run_script_text(walk, path, parameters)


def run_script_text(walk: Walk, path: str, parameters: tuple[str, ...]) -> bool:
    """Run the text of a script, as made by this program or found on the disk; False without one."""
    state = walk.state
    text = state.files.get(state.resolve(path))
    is_made = text is not None
    if text is None:
        text = text_on_disk(walk, path)
    if text is None:
        return False
    state.parameters, state.name = parameters, path
    with nullcontext() if is_made else only_certain_effects(walk):
        run_with_shebang(walk, text)
    return True


def run_with_shebang(walk: Walk, text: str) -> None:
    """Run a script in the language that its first line names, else as shell text."""
    shebang = re.match(r"#!\s*(\S+)(?:\s+(\S+))?", text)
    if shebang:
        word = shebang[2] if shebang[1].endswith("/env") and shebang[2] else shebang[1]
        if known := interpreter(program_name(word) or ""):
            walk.run_code(known["language"], text)
            return
    walk.run_text(text)
