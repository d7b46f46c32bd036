"""Every source module: one concept, said in its first line."""

from __future__ import annotations

import ast
from pathlib import Path

LINES_MAX = 400


def test_a_module_says_what_lives_in_it(module: Path):
    assert ast.get_docstring(ast.parse(module.read_text()))


def test_a_module_is_short_enough_to_be_one_concept(module: Path):
    assert len(module.read_text().splitlines()) <= LINES_MAX
