"""A second set of cases, with the files of their projects, judged as the guard is shipped.

A case says whether a rule forbids what a program does (`caught`) or not (`free`), under one of the
sets of rules beside it. `misses.txt` names the cases that are decided otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policy import Subject, judge, load_rules

SET = Path(__file__).parent / "cases" / "second"
RULES = json.loads((SET / "rules.json").read_text("utf-8"))
MISSES = frozenset((SET / "misses.txt").read_text("utf-8").split())


def cases(name: str) -> Iterator[dict[str, Any]]:
    """The cases of a file."""
    for line in (SET / f"{name}.jsonl").read_text("utf-8").splitlines():
        yield json.loads(line)


def is_caught(case: dict[str, Any], project: Path) -> bool:
    """Whether the guard denies, asks or redirects, with the case's files in the project."""
    settings = {".claude/settings.json": json.dumps(RULES[case["rules"]])}
    for name, text in {**case.get("files", {}), **settings}.items():
        file = project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    home = project.parent
    environ = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    surface = "agent_shell" if case["language"] == "shell" else "sandbox"
    rules = load_rules(project, home=home)
    subject = Subject(
        case["language"], case["code"], str(project), str(project), str(home), environ, surface
    )
    return not judge(subject, rules).allowed


@pytest.mark.parametrize("name", ["shell", "runners", "host", "free"])
def test_the_second_set_is_decided_as_written_but_for_the_misses_that_are_named(
    name: str, tmp_path: Path
) -> None:
    wrong, listed = set(), set()
    for case in cases(name):
        caught = is_caught(case, tmp_path / case["id"] / "project")
        wrong |= {case["id"]} if caught != (case["expected"] == "caught") else set()
        listed |= {case["id"]} & MISSES
    assert wrong == listed
