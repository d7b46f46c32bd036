"""Judging of programs: the same for every caller, and in bounded time."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from base.frames import decode, encode
from policy.analysis import Analysis, analyse
from policy.deadline import SECONDS, results_of
from policy.decide import decide, deny_undecided
from policy.load import real_path
from policy.matching import FileFacts, Folders
from policy.model import TOO_LARGE, Report, Rules, Subject, Verdict, not_judged
from policy.path_patterns import find_hidden_paths
from policy.project_file import HiddenError, read_project_file, refuse_hidden

if TYPE_CHECKING:
    from policy.project_file import Hides

BYTES_MAX = 256 * 1024
NAMES_MAX = 1024


def script_texts(project: str, hides: Hides | None = None) -> Callable[[str], str | None]:
    """Return a reader for `evaluate`: the text of a file of the project, by its absolute path.

    None for paths outside, after following links, for large files, and for text that is not UTF-8.
    For a folder, by its path with a slash at the end, the names in it. The reader raises
    `HiddenError` for files of secrets, and for those that `hides` names.
    """
    root = os.path.realpath(project)
    spellings = (f"{root.rstrip('/')}/", f"{project.rstrip('/')}/")

    def read(path: str) -> str | None:
        if not f"{path}/".startswith(spellings):
            return None
        try:
            real = os.path.realpath(path)
            if not f"{real}/".startswith(f"{root}/") or not os.path.exists(real):
                return None
            if path[-1:] == "/":
                refuse_hidden(real, (root,), hides)
                with os.scandir(real) as entries:
                    return "\n".join(sorted(item.name for item in islice(entries, NAMES_MAX)))
            return read_project_file(path, project, hides, BYTES_MAX).decode("utf-8")
        except HiddenError:
            raise
        except (OSError, ValueError, RecursionError):
            return None

    return read


T = TypeVar("T")


def judge(
    subject: Subject, rules: Rules, tools: Collection[str] | None = None, *, on_disk: bool = True
) -> Verdict:
    """Decide whether this program may run. `tools` are those a redirect may name; None: all.

    Links are followed, and the project's scripts are read; not so without `on_disk`, where the
    folders are made up. Some texts take very long: see `in_time`.
    """
    return judge_with_analysis(subject, rules, tools, on_disk=on_disk)[1]


def judge_with_analysis(
    subject: Subject, rules: Rules, tools: Collection[str] | None = None, *, on_disk: bool = True
) -> tuple[Analysis, Verdict]:
    """Return the effects of a program, and the verdict on them."""
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
    """Judge each program in bounded time, for results of a kind; for a process of one thread.

    If judging takes too long, or fails by our defect, the strictest rule decides.
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
        except OSError as error:  # no process could be started
            why = not_judged(report(error))
            return judged + [deny_undecided(subject.code, rules, why) for subject in rest]
        outcomes = [decode(tuple[kind | None, Verdict | None], result) for result in results]  # type: ignore[valid-type]
        judged += [found or denied for found, denied in outcomes]
        if len(results) < len(rest):
            judged.append(deny_undecided(rest[len(results)].code, rules, TOO_LARGE))
    return judged
