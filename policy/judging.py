"""May this program run? Judged in one and the same way, and in bounded time, whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from typing import TypeVar

from policy.analysis import Analysis, analyse
from policy.deadline import SECONDS, decode, encode, results_of
from policy.decide import decide, deny_undecided
from policy.folders import Folders
from policy.hiding import find_hidden_paths
from policy.load import real_path
from policy.matching import FileFacts
from policy.model import Subject, Verdict
from policy.rules import Rules
from policy.script_texts import script_texts
from policy.undecided import TOO_LARGE, Report, not_judged

T = TypeVar("T")


def judge(
    subject: Subject, rules: Rules, tools: Collection[str] | None = None, *, on_disk: bool = True
) -> Verdict:
    """May this program run? `tools` are those a redirect may name; None means all are there.

    Links are followed, and the project's scripts are read; not so without `on_disk`, where the
    folders are made up. What the text holds may make it take very long: see `in_time`.
    """
    return judge_with_analysis(subject, rules, tools, on_disk=on_disk)[1]


def judge_with_analysis(
    subject: Subject, rules: Rules, tools: Collection[str] | None = None, *, on_disk: bool = True
) -> tuple[Analysis, Verdict]:
    """What a program does, and the verdict on that."""
    project = subject.project if on_disk and subject.project else ""
    denied = cache(lambda: find_hidden_paths(rules, [project]))  # most programs read no script
    texts = script_texts(project, lambda path: denied().covers(path)) if project else None
    analysis = analyse(subject, texts or (lambda path: None))
    ground = FileFacts(real_path, Folders()) if on_disk else FileFacts()
    return analysis, decide(analysis, subject, rules, ground, tools)


def in_time(
    subjects: Sequence[Subject],
    rules: Rules,
    judge: Callable[[Subject], T],
    report: Report,
    kind: type[T],
) -> list[T | Verdict]:
    """What `judge` gives on each program, of a kind, in bounded time; for a process of one thread.

    On what takes too long, or shows a defect of ours, it is the verdict by the strictest rule.
    """

    def steps() -> Iterator[bytes]:
        for subject in rest:
            try:
                yield encode((judge(subject), None))
            except MemoryError:
                raise  # it ends the child
            except Exception as error:
                why = not_judged(report(error))
                yield encode((None, deny_undecided(subject.code, rules, why)))

    judged: list[T | Verdict] = []
    while rest := subjects[len(judged) :]:
        try:
            results = results_of(steps, SECONDS)
        except OSError as error:  # no process is to be had
            why = not_judged(report(error))
            return judged + [deny_undecided(subject.code, rules, why) for subject in rest]
        outcomes = [decode(tuple[kind | None, Verdict | None], result) for result in results]  # type: ignore[valid-type]
        judged += [found or denied for found, denied in outcomes]
        if len(results) < len(rest):
            judged.append(deny_undecided(rest[len(results)].code, rules, TOO_LARGE))
    return judged
