"""Mutated programs: the guard neither raises nor hangs; and what does is known by its program."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from types import FrameType

import pytest

import policy
from policy import judging
from policy.model import TOO_LARGE
from tests.policy.mutation_checks import (
    check,
    keep,
    prepare,
    run_checks,
    subject_of,
    table_seeds,
)
from tests.policy.mutations import MUTATIONS, SIZE_MAX, Program, mutate

COUNT, COUNT_LONG = 160, 16_000  # ten of each language, and with --long a thousand
SEED = 7
FEW = 50  # calls for one of many pieces; fewer show no square, as where all is read as one


@pytest.mark.once
def test_no_mutated_program_raises_or_outlasts_its_time(tmp_path: Path, is_long: bool) -> None:
    count = COUNT_LONG if is_long else COUNT
    seeds = table_seeds()
    checks = run_checks(prepare(tmp_path, seeds, SEED), count, 1, lambda done: None)
    assert [one.number for one in checks] == list(range(count))
    failed = [one for one in checks if one.kind]
    assert [(one.kind, mutate(one.number, SEED, seeds)) for one in failed] == []


@pytest.mark.once
def test_a_guard_that_hangs_is_known_by_its_program_and_those_behind_it_are_judged(
    tmp_path: Path,
) -> None:
    seeds = {"shell": ["true;\n" * 3_000]}
    folder = tmp_path / "run"
    folder.mkdir()
    checks = run_checks(prepare(folder, seeds, 2, wall_s=0.001), 2, 1, lambda done: None)
    assert [(one.number, one.failure, one.was_ended) for one in checks] == [
        (0, "ended by SIGALRM", True),
        (1, "ended by SIGALRM", True),
    ]
    assert keep(checks, 2, seeds, tmp_path / "kept") == 2
    assert (tmp_path / "kept" / "2-1-shell").read_text() == mutate(1, 2, seeds).code
    assert "policy" in (tmp_path / "kept" / "2-1-shell.txt").read_text()
    assert [one.kind for one in checks] == ["ended by SIGALRM"] * 2


def test_a_program_that_takes_too_long_is_counted_and_one_that_raises_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = policy.judge

    def judged(subject: policy.Subject, rules: policy.Rules) -> policy.Verdict:
        if subject.code == "LOOP":
            sum(itertools.repeat(0))
        return judge(subject, None if subject.code == "RAISE" else rules)  # type: ignore[arg-type]

    monkeypatch.setattr(policy, "judge", judged)
    monkeypatch.setattr(judging, "SECONDS", 0.2)
    checks = [check(1, Program("shell", code), "/w") for code in ("ls", "LOOP", "RAISE")]
    kinds = ("", TOO_LARGE, "AttributeError at decide.py")
    assert tuple(one.kind.partition(":")[0] for one in checks) == kinds
    assert [one.decision for one in checks] == ["allow", "deny", "deny"]
    assert checks[1].seconds > checks[0].seconds
    assert "judging.py" in checks[2].trace
    assert [bool(one.failure) for one in checks] == [False, False, True]
    assert [one.is_too_large for one in checks] == [False, True, False]
    checks = [one._replace(number=number) for number, one in enumerate(checks)]
    assert keep(checks, 2, {"shell": ["true"]}, tmp_path) == 1
    assert "judging.py" in (tmp_path / "2-2-shell.txt").read_text()


def calls_of_judging(program: Program, project: str) -> int:
    """How many functions a verdict calls, those in C included: its cost, alike on every machine."""
    count = 0

    def add(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(add)
    try:
        policy.judge(subject_of(1, program, project), policy.Rules())
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    ("language", "beginning", "piece"),
    [
        *(("shell", "", piece) for piece in ("[[", "[", "[/[", "cd a;", "trap a EXIT;")),
        *(("shell", command, " a") for command in ("rm -rf", "cp -r", "mv", "scp", "grep -r x")),
        *((name, "a", ".b()") for name in ("java", "javascript", "elixir", "python", "ruby")),
        ("perl", "a", "->b()"),
    ],
)
def test_a_piece_many_times_does_not_cost_its_square(
    language: str, beginning: str, piece: str
) -> None:
    calls = [
        calls_of_judging(Program(language, beginning + piece * times), "/w")
        for times in (1, 500, 2_000)
    ]
    assert calls[-1] < max(6 * calls[1], FEW * 2_000)


@pytest.mark.parametrize(
    ("command", "name", "piece"),
    [
        ("make", "Makefile", "a{n}: b{n}\nall: a{n}\n"),
        ("rake a0", "Rakefile", "def a{n}\n  a{m}()\nend\n"),
        ("npx gulp", "gulpfile.js", "word"),
    ],
)
def test_a_file_of_a_project_does_not_cost_its_square(
    command: str, name: str, piece: str, tmp_path: Path
) -> None:
    calls = []
    for times in (1, 500, 2_000):
        pieces = (piece.format(n=number, m=number + 1) for number in range(times)[::-1])
        (tmp_path / name).write_text("".join(pieces))
        calls.append(calls_of_judging(Program("shell", command), str(tmp_path)))
    assert calls[-1] < max(6 * calls[1], FEW * 2_000)


def test_the_same_number_and_seed_give_the_same_program_and_others_another() -> None:
    seeds = table_seeds()
    first = [mutate(number, 1, seeds) for number in range(32)]
    assert first == [mutate(number, 1, seeds) for number in range(32)]
    assert first != [mutate(number, 2, seeds) for number in range(32)]
    assert {program.language for program in first} == set(seeds)
    assert max(len(program.code) for program in first) <= SIZE_MAX


def test_every_mutation_bears_an_empty_program() -> None:
    class First:
        """Chances of which the first is always taken."""

        choice = staticmethod(lambda some: some[0])
        randint = staticmethod(lambda first, last: first)
        randrange = staticmethod(lambda end: 0)
        random = staticmethod(lambda: 0.0)
        shuffle = staticmethod(lambda some: None)

    assert all(isinstance(mutation("", First(), [""]), str) for mutation in MUTATIONS)
