"""Every source module: one concept, said in its first line."""

from __future__ import annotations

import ast

LINES_MAX = 400


def test_every_module_says_what_lives_in_it(modules):
    assert [path for path, text in modules.items() if not ast.get_docstring(ast.parse(text))] == []


def test_every_module_is_short_enough_to_be_one_concept(modules):
    lines = {path: len(text.splitlines()) for path, text in modules.items()}
    assert {path: count for path, count in lines.items() if count > LINES_MAX} == {}
