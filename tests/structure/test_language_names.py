"""Languages are rows: outside their table no code decides by a language's name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

import runtimes

NAMES = {name for row in runtimes.LANGUAGES for name in (row.name, *row.aliases)}


def decided_by_name(source: str) -> Iterator[str]:
    """Language names that a comparison or a match statement looks for."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides: list[ast.expr] = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            sides = [node.value]
        else:
            continue
        for side in sides:
            for part in ast.walk(side):
                if isinstance(part, ast.Constant) and part.value in NAMES:
                    yield f"line {node.lineno}: {part.value!r}"


def test_no_code_decides_by_a_languages_name(modules):
    found = {
        path: list(decided_by_name(text))
        for path, text in modules.items()
        if path.startswith(("executor/", "ctxmode/"))
    }
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    [
        "if language == 'python': pass",
        "x = row.name in ('go', 'rust')",
        "match language:\n    case 'ruby': pass",
    ],
)
def test_a_decision_by_name_is_seen(source):
    assert list(decided_by_name(source))


def test_a_table_of_data_is_no_decision():
    assert list(decided_by_name("PROGRAMS = {'python': 'print(1)'}")) == []
