"""Budgets of the house: how many things there are, each at its value of today, and its goal.

`./check --budgets` prints them all. When a change brings a measure down, its budget follows.
"""

from __future__ import annotations

import ast
import sys
from typing import NamedTuple

import pytest

from tests.structure.conftest import ROOMS, read_modules


class Budget(NamedTuple):
    """A measure that only goes down.

    Attributes:
        now: its value of today, which none may exceed.
        goal: the value to be reached; 0 where a room has none of its own.
        is_of_a_use: it is measured by using the program (tests/e2e/test_passed_functions.py).
    """

    now: int
    goal: int = 0
    is_of_a_use: bool = False


BUDGETS = {
    "modules": Budget(576, 500),
    "record types": Budget(439, 350),
    "lines": Budget(119_503, 100_000),
    "lines of base": Budget(3_444),
    "lines of ctxmode": Budget(34_978),
    "lines of executor": Budget(26_569),
    "lines of fleet": Budget(5_464),
    "lines of memory": Budget(17_146),
    "lines of repomap": Budget(3_937),
    "lines of policy": Budget(12_235),
    "lines of kb": Budget(9_620),
    "lines of runtimes": Budget(4_986),
    "lines of images": Budget(1_124),
    "lines of benchmarks": Budget(3_863),
    "functions that `run python -c 'print(1)'` passes": Budget(406, 150, True),
    "files that `run python -c 'print(1)'` passes": Budget(77, 45, True),
    "functions that a warm ctx_execute passes": Budget(234, 120, True),
    "files that a warm ctx_execute passes": Budget(49, 35, True),
    "functions that a warm ctx_search passes": Budget(124, 90, True),
    "files that a warm ctx_search passes": Budget(41, 25, True),
}
RECORD_BASES = {"NamedTuple", "TypedDict", "BaseModel", "Struct"}


def judge(name: str, value: int) -> str:
    """Return what is wrong with a measure; "" if it is within its budget."""
    budget = BUDGETS[name]
    if value <= budget.now:
        return ""
    goal = f", on the way to {budget.goal:,}" if budget.goal else ""
    return (
        f"{name}: {value:,} is over the budget of {budget.now:,}{goal}\n"
        "Raise no budget: make another thing go. `./check --budgets` shows all."
    )


def count_records(texts: list[str]) -> int:
    """Return how many classes are records: dataclasses, or heirs of a library's kind of record."""
    classes = [
        node
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    ]
    bases = [{*map(name_of, node.bases)} for node in classes]
    heirs = {node.name for node, its in zip(classes, bases, strict=True) if its & RECORD_BASES}
    return sum(
        "dataclass" in map(name_of, node.decorator_list) or bool(its & (heirs | RECORD_BASES))
        for node, its in zip(classes, bases, strict=True)
    )


def name_of(node: ast.expr) -> str:
    """Return the last name of a base or decorator: `Struct` of `msgspec.Struct`."""
    match node:
        case ast.Call():
            return name_of(node.func)
        case ast.Subscript():
            return name_of(node.value)
        case ast.Attribute():
            return node.attr
    return getattr(node, "id", "")


def measure_texts() -> dict[str, int]:
    """Return the measures that the sources show, by their names among the budgets."""
    modules = read_modules(*ROOMS)
    rooms = {room: read_modules(room) for room in (*ROOMS, "benchmarks")}
    lines = {room: sum(len(text.splitlines()) for text in rooms[room].values()) for room in rooms}
    return {
        "modules": sum(not name.endswith("/__init__.py") for name in modules),
        "record types": count_records([*modules.values()]),
        "lines": sum(lines[room] for room in ROOMS),
        **{f"lines of {room}": count for room, count in lines.items()},
    }


@pytest.fixture(scope="module")
def measures() -> dict[str, int]:
    return measure_texts()


@pytest.mark.parametrize("name", [name for name in BUDGETS if not BUDGETS[name].is_of_a_use])
def test_the_house_has_no_more_than_its_budget(measures, name):
    assert judge(name, measures[name]) == ""


@pytest.mark.parametrize(
    ("value", "said"),
    [(761, ""), (760, ""), (762, "record types: 762 is over the budget of 761, on the way to 350")],
)
def test_only_what_is_over_its_budget_is_wrong(monkeypatch, value, said):
    monkeypatch.setitem(BUDGETS, "record types", Budget(761, 350))
    assert judge("record types", value).partition("\n")[0] == said


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("@dataclass\nclass A: ...", 1),
        ("@dataclasses.dataclass(frozen=True)\nclass A: ...", 1),
        ("class A(NamedTuple): ...\nclass B(msgspec.Struct): ...", 2),
        ("class A(BaseModel): ...\nclass B(A): ...\nclass C(Generic[T], A): ...", 3),
        ("class A: ...\nclass B(A): ...\nclass C(ValueError): ...", 0),
    ],
)
def test_records_are_counted(text, records):
    assert count_records([text]) == records


def test_no_goal_is_above_its_budget():
    assert [name for name, budget in BUDGETS.items() if budget.goal > budget.now] == []


def main() -> int:
    """Print each measure with its budget and goal; return 1 if one is over its budget."""
    from tests.e2e.test_passed_functions import measure

    measures = measure_texts() | measure()
    print(f"{'now':>9} {'budget':>9} {'goal':>9}")
    for name, (budget, goal, _) in BUDGETS.items():
        if name in measures:
            print(f"{measures[name]:9,} {budget:9,} {f'{goal:,}' if goal else '':>9}  {name}")
    return int(any(judge(name, value) for name, value in measures.items()))


if __name__ == "__main__":
    sys.exit(main())
