"""Explanation of a verdict for users: the steps from a program to it."""

from __future__ import annotations

from typing import NamedTuple

from policy import marks
from policy.judging import judge_with_analysis
from policy.model import (
    Command,
    Download,
    Effect,
    FileAccess,
    Match,
    OpaqueExec,
    Rules,
    Subject,
    Verdict,
    encode,
)


class ExplainedEffect(NamedTuple):
    """One effect of the program, in normal form, and the rules that matched at its place."""

    what: str
    detail: str
    nesting: tuple[str, ...]
    span: tuple[int, int]
    text: str
    matches: tuple[Match, ...]


class Explanation(NamedTuple):
    """The steps, and the verdict they lead to."""

    steps: tuple[ExplainedEffect, ...]
    verdict: Verdict
    code: str

    def to_text(self) -> str:
        """Write the steps one under the other, each with its place underlined in the program."""
        lines: list[str] = []
        for number, step in enumerate(self.steps, 1):
            path = " > ".join(step.nesting)
            within = f"   [in {path}]" if path else ""
            lines.append(f"{number}. {step.what}: {step.detail}{within}")
            lines += [f"     {line}" for line in underline(self.code, step.span)]
            lines += [
                f"     {match.decision.word} by {match.rule} ({match.source}), {match.kind}: "
                f"{match.path} {match.reason} {match.advice}".rstrip(" :")
                for match in step.matches
            ]
        lines.append(f"=> {self.verdict.decision.word}: {self.verdict.message}")
        lines.append(f"   understood: {self.verdict.coverage}; work: {self.verdict.work}")
        return "\n".join(lines)


def explain(subject: Subject, rules: Rules, *, on_disk: bool = True) -> Explanation:
    """Explain the verdict that `judge` returns for a program."""
    analysis, verdict = judge_with_analysis(subject, rules, on_disk=on_disk)
    steps = tuple(_step(effect, verdict) for effect in analysis.effects)
    return Explanation(steps, verdict, subject.code)


def _step(effect: Effect, verdict: Verdict) -> ExplainedEffect:
    what, detail = _describe(effect)
    place = effect.place
    matches = tuple(
        match
        for match in verdict.matches
        if match.span == place.span and match.text == marks.show(place.text)
        and (not isinstance(effect, Command) or match.argv == tuple(map(marks.show, effect.argv)))
    )  # fmt: skip
    return ExplainedEffect(what, detail, place.nesting, place.span, marks.show(place.text), matches)


def _describe(effect: Effect) -> tuple[str, str]:
    if isinstance(effect, Command):
        return "command", " ".join(repr(marks.show(word)) for word in effect.argv)
    if isinstance(effect, FileAccess):
        return "write" if effect.is_write else "read", marks.show(effect.path)
    if isinstance(effect, Download):
        return "download", marks.show(effect.url)
    return "unknown code" if isinstance(effect, OpaqueExec) else "not understood", effect.why


def underline(code: str, span: tuple[int, int]) -> list[str]:
    """Return the lines of the program that a byte span touches, with a row of carets below each."""
    data = encode(code)
    first = len(data[: span[0]].decode("utf-8", "replace"))
    last = len(data[: span[1]].decode("utf-8", "replace"))
    lines, offset = list[str](), 0
    for line in code.split("\n"):
        start, end = max(first - offset, 0), min(last - offset, len(line))
        if start < end and len(lines) < 6:
            lines += [line, " " * start + "^" * (end - start)]
        offset += len(line) + 1
    return lines
