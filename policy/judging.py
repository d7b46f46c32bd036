"""May this program run? Judged in one and the same way, and in bounded time, whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from policy.analysis import Analysis, analyse
from policy.deadline import SECONDS, results_of
from policy.decide import decide, undecided
from policy.load import real_path
from policy.model import Subject, Verdict
from policy.rules import Rules
from policy.script_texts import script_texts

if TYPE_CHECKING:
    from policy.explanation import Explanation

T = TypeVar("T")
TOO_LARGE = "it is too large to be understood in the time for a verdict; run less at once"

Report = Callable[[Exception], str]
"""Tells whoever can mend it of a defect, and gives the sentence that names it."""


def judge(
    subject: Subject, rules: Rules, tools: Collection[str] | None = None, *, on_disk: bool = True
) -> Verdict:
    """May this program run? `tools` are those a redirect may name; None means all are there.

    Links are followed, and the project's scripts are read; not so without `on_disk`, where the
    folders are made up. What the text holds may make it take very long: see `judge_in_time`.
    """
    return analysed(subject, rules, tools, on_disk=on_disk)[1]


def analysed(
    subject: Subject, rules: Rules, tools: Collection[str] | None = None, *, on_disk: bool = True
) -> tuple[Analysis, Verdict]:
    """What a program does, and the verdict on that."""
    texts = script_texts(subject.project) if on_disk and subject.project else _no_text
    analysis = analyse(subject, texts)
    return analysis, decide(analysis, subject, rules, real_path if on_disk else None, tools)


def judge_in_time(
    subjects: Sequence[Subject], rules: Rules, *, on_disk: bool = True, report: Report = repr
) -> list[Verdict]:
    """The verdict on each program, in bounded time; for a process of one thread.

    What takes too long, and what shows a defect of ours, is decided by the strictest rule.
    """

    def otherwise(subject: Subject, why: str) -> Verdict:
        return undecided(subject.code, rules, why)

    return _in_time(subjects, lambda one: judge(one, rules, on_disk=on_disk), otherwise, report)


def explain_in_time(subject: Subject, rules: Rules, report: Report = repr) -> Explanation:
    """How the verdict comes about that `judge_in_time` gives; without steps if in no other way."""
    from policy.explanation import Explanation, explain  # noqa: PLC0415 - few ask

    def otherwise(subject: Subject, why: str) -> Explanation:
        return Explanation((), undecided(subject.code, rules, why), subject.code)

    return _in_time([subject], lambda one: explain(one, rules), otherwise, report)[0]


def attempt(
    subject: Subject,
    judge: Callable[[Subject], T],
    otherwise: Callable[[Subject, str], T],
    report: Report,
) -> T:
    """What a program is found to be; otherwise, where that shows a defect of ours, why not."""
    try:
        return judge(subject)
    except MemoryError:
        raise  # it ends the child
    except Exception as error:
        return otherwise(subject, not_judged(report(error)))


def not_judged(report: str) -> str:
    """Why a verdict is the strictest rule's where one was raised instead."""
    return f"it could not be judged: {' '.join(report.split())}"


def _in_time(
    subjects: Sequence[Subject],
    judge: Callable[[Subject], T],
    otherwise: Callable[[Subject, str], T],
    report: Report,
) -> list[T]:
    import pickle  # noqa: PLC0415 - a hook does without

    def steps() -> Iterator[bytes]:
        for subject in rest:
            yield pickle.dumps(attempt(subject, judge, otherwise, report))

    found: list[T] = []
    while rest := subjects[len(found) :]:
        frames = results_of(steps, SECONDS)
        found += map(pickle.loads, frames)
        if len(frames) < len(rest):
            found.append(otherwise(rest[len(frames)], TOO_LARGE))
    return found


def _no_text(path: str) -> None:
    """There is no script to be read."""
