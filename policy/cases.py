"""Case tables: rows of code with the decision they must get, run against a rule file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from policy.judging import in_time, judge
from policy.load import load_file
from policy.model import Complete, Report, RuleFileError, Subject, Surface, Verdict

_ESCAPES = {"\\": "\\", "n": "\n", "t": "\t", "r": "\r"}
_TAG = re.compile(r"\[([^\]]+)\]")
_HEADER = ("language", "code", "expected", "reason")


class PolicyCase(NamedTuple):
    """A row of a table of cases."""

    language: str
    code: str
    expected: str
    reason: str
    line: int  # the row's line in the table

    def is_right(self, verdict: Verdict) -> bool:
        """Return whether a verdict's decision is the expected one."""
        return verdict.decision.word == self.expected

    def to_json(self, verdict: Verdict) -> dict[str, object]:
        """Build the row as plain JSON values, with the policy's verdict."""
        decision = verdict.decision
        return {
            "language": self.language,
            "expected": self.expected,
            "got": decision.word,
            "rule": next((m.rule for m in verdict.matches if m.decision is decision), None),
            "reason": self.reason,
        }


CaseResult = tuple[PolicyCase, Verdict]
"""A case and the policy's verdict."""


def count_by_tag(results: Iterable[CaseResult]) -> dict[str, tuple[int, int]]:
    """Count the right and all results per tag, the bracketed word that opens a reason."""
    counts: dict[str, tuple[int, int]] = {}
    for case, verdict in results:
        match = _TAG.match(case.reason)
        tag = match[1] if match else ""
        right, total = counts.get(tag, (0, 0))
        counts[tag] = (right + case.is_right(verdict), total + 1)
    return counts


def decode(text: str) -> str:
    r"""Decode a cell: `\\`, `\n`, `\t` and `\r`, left to right; other backslashes stay."""
    return re.sub(r"\\([\\ntr])", lambda match: _ESCAPES[match[1]], text)


def read_cases(path: Path) -> tuple[PolicyCase, ...]:
    """Read the rows of a table; raises RuleFileError naming the invalid line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines or tuple(lines[0].split("\t")[:4]) != _HEADER:
        raise RuleFileError(str(path), 1, "no header", f"Begin with: {' '.join(_HEADER)}.")
    cases = []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) < 4 or cells[2] not in ("allow", "ask", "redirect", "deny"):
            remedy = "Write language, code, expected decision and reason, separated by tabs."
            raise RuleFileError(str(path), number, "not a case", remedy)
        cases.append(PolicyCase(cells[0], decode(cells[1]), cells[2], cells[3], number))
    return tuple(cases)


def run_cases(
    cases_path: Path,
    rules_path: Path,
    project: Path | None = None,
    report: Report = repr,
    complete: Callable[[str], Complete | None] | None = None,
) -> tuple[CaseResult, ...]:
    """Judge every row under the rules of one file, in its order.

    Shell rows are what an agent would type in its shell; rows in another language are programs for
    the sandbox. Without a project the folders are made up, so that the answers do not depend on the
    machine; with one, its scripts are read. `complete` returns a `Subject.complete` for a language.
    """
    home = Path("/home/user")
    folder = project or home / "project"
    rules = load_file(rules_path, project=folder, home=home)
    cases = read_cases(cases_path)
    subjects = [subject_of(case, home, folder, complete) for case in cases]
    judged = partial(judge, rules=rules, on_disk=project is not None)
    verdicts = in_time(subjects, rules, judged, report, Verdict)
    return tuple(zip(cases, verdicts, strict=True))


def subject_of(
    case: PolicyCase,
    home: Path,
    project: Path,
    complete: Callable[[str], Complete | None] | None = None,
) -> Subject:
    """Return the program of a row, typed or run in the project's folder."""
    surface: Surface = "agent_shell" if case.language in ("bash", "sh", "shell") else "sandbox"
    env = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    folder = str(project)
    completed = complete(case.language) if complete is not None else None
    return Subject(case.language, case.code, folder, folder, str(home), env, surface, completed)
