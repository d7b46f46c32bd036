"""A test that needs what this machine lacks skips with its reason, and says so in one way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.needs import absent, need, need_packages, needs

TESTS = Path(__file__).parents[1]
# Where a program is looked for, and a test skipped, close to each other.
OWN_WORDS = re.compile(r"\bwhich\([^\n]*\n?[^\n]*\n?[^\n]*\bskip(if)?\(|skipif\([^)]*\bwhich\(")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("sh", "shell", "python"), ""),
        (("no-such-program",), "this machine has no no-such-program"),
        (("sh", "no-such", "nor-this"), "this machine has no no-such, no nor-this"),
    ],
)
def test_what_is_absent_is_said(names, said):
    assert absent(*names) == said
    assert needs(*names).args == (bool(said),)
    if not said:
        need(*names)
        return
    with pytest.raises(pytest.skip.Exception, match=said):
        need(*names)


def test_packages_need_their_language_and_its_client(monkeypatch):
    need_packages("python")
    monkeypatch.setattr("tests.needs.find_tool", lambda tool: None)
    with pytest.raises(pytest.skip.Exception, match="has no uv"):
        need_packages("python")


def test_no_test_has_words_of_its_own_for_a_program_that_is_absent():
    found = [
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("*.py")
        if path.name not in ("needs.py", "test_needs.py") and OWN_WORDS.search(path.read_text())
    ]
    assert found == []
