"""Analysis of one program to its effects, whatever language it is written in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, get_args

from policy import marks
from policy.deadline import pause_limit
from policy.model import (
    Command,
    Coverage,
    Effect,
    EffectPlace,
    FileAccess,
    OpaqueExec,
    Subject,
    Unparsed,
    encode,
)
from policy.shell.grammar import parse
from policy.shell.options import SHELLS
from policy.shell.state import WORK_PER_BYTE, BudgetExceededError, Findings, ShellState
from policy.shell.syntax import ShellSyntaxError
from policy.shell.walk import Walk

WORK_MAX = 200_000  # two seconds or so; the largest scripts of a Debian system need a tenth of it
CODE_BYTES_MAX = 1 << 20  # larger programs are not read

SHELL_NAMES = SHELLS | {"shell"}


class Analysis(NamedTuple):
    """The effects of a program, how much of it was understood, and the work that took."""

    effects: tuple[Effect, ...]
    coverage: Coverage
    work: int


def analyse(subject: Subject, read_text: Callable[[str], str | None] | None = None) -> Analysis:
    """Find every effect of what runs; never raises for anything the program holds. `read_text`
    returns the text of a script file on the disk, or None."""
    size = len(encode(subject.code))
    if size > CODE_BYTES_MAX:
        why = f"a program of {size} bytes; programs up to {CODE_BYTES_MAX} are read"
        place = EffectPlace((0, size), subject.code[:120])
        return Analysis((Unparsed(why, place),), "unparsed", 0)
    if not size:
        return Analysis((), "full", 0)
    if subject.complete is None:
        return _analyse_text(subject, subject.code, read_text)
    texts = subject.complete(subject.code)
    found = [_analyse_text(subject, text, read_text) for text in texts]
    placed = (
        effect
        for text, one in zip(texts, found, strict=True)
        for effect in _place_in_code(one.effects, text, subject.code)
    )
    coverage = max((one.coverage for one in found), key=get_args(Coverage).index)
    return Analysis(tuple(dict.fromkeys(placed)), coverage, sum(one.work for one in found))


def _analyse_text(
    subject: Subject, text: str, read_text: Callable[[str], str | None] | None
) -> Analysis:
    """Find the effects of a text that runs for the subject's code; their places are in the text."""
    code = marks.scrub(text)
    work = min(WORK_PER_BYTE * len(encode(code)), WORK_MAX)
    findings = Findings(code, work, _screen, read_text)
    state = ShellState(subject.env, subject.home, subject.cwd)
    findings.walk = walk = Walk(findings, state, code)
    if subject.surface == "sandbox":
        state.parameters = (marks.LIST,)
    try:
        if subject.language in SHELL_NAMES:
            walk.follow(parse(code))
        else:
            _screen(walk._replace(is_syntactic=False), subject.language, code)
    except (ShellSyntaxError, BudgetExceededError) as error:
        findings.walk._replace(text=subject.code[:200]).report_unparsed(str(error))
    except RecursionError:
        why = "it is nested too deep to follow"
        findings.walk._replace(text=subject.code[:200]).report_unparsed(why)
    del findings.walk  # a reference cycle: broken here, so that all is freed at once
    return Analysis(
        tuple(findings.effects), _coverage(findings), min(findings.spent, findings.limit)
    )


def _place_in_code(effects: Sequence[Effect], text: str, code: str) -> Iterator[Effect]:
    """Give effects of a completed text their places in the code it was made of."""
    data, own = encode(marks.scrub(text)), encode(marks.scrub(code))
    shift = 0  # as it was for the effect before: a completion moves few and large pieces
    for effect in effects:
        start, end = effect.place.span
        piece = data[start:end]
        if start + shift < 0 or own[start + shift : end + shift] != piece:
            shift = _find_repeated(own, piece, data.count(piece, 0, start)) - start
        span = (start + shift, end + shift) if start + shift >= 0 else (0, len(own))
        yield effect._replace(place=effect.place._replace(span=span))


def _find_repeated(data: bytes, piece: bytes, before: int) -> int:
    """Find the place of a piece that occurs this often before it; -1 if it is missing."""
    at = data.find(piece) if piece else -1
    for _ in range(before):
        if at < 0:
            break
        at = data.find(piece, at + len(piece))
    return at


def _screen(walk: Walk, language: str, code: str) -> None:
    with pause_limit():
        from policy.host.screen import screen  # noqa: PLC0415 - programs in other languages pay

    screen(walk, language, code)


def _coverage(findings: Findings) -> Coverage:
    """Return `full` if every word was understood. A program without a row is, too: what rules for
    commands compare is its command line."""
    if any(isinstance(effect, Unparsed) for effect in findings.effects):
        return "unparsed"
    is_partial = findings.is_partial or any(map(_is_partly_unknown, findings.effects))
    return "partial" if is_partial else "full"


def _is_partly_unknown(effect: Effect) -> bool:
    if isinstance(effect, OpaqueExec):
        return True
    if isinstance(effect, Command):
        return any(map(marks.has_hole, effect.argv))
    return isinstance(effect, FileAccess) and marks.has_hole(effect.path)
