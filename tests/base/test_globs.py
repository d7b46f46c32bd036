"""Globs of names: two readings of a pattern and two ways to match it agree, in bounded time."""

from __future__ import annotations

import fnmatch
import re
import time

import pytest

from base.globs import (
    Wildcard,
    is_made_of,
    name_pattern,
    parse_name,
    parse_shell_name,
    to_expression,
)

PIECES = (
    *("a", "b", "*", "?", "[ab]", "[!a]", "[a-c]", "[]a]", "[!]a]", "[a-]", "[--0]", "[a-c-e]"),
    *("[", "]", "-", ".", "\n", "é"),
)
NAMES = ("", "a", "b", "ab", "abc", "-", "]", "[", "a-", "e", "d", ".", "\n", "é", "aé", "[a")
MALFORMED = ("[", "[a", "a\\", "[[:none:]]", "[!", "[a\\")


def matches(expression: str, text: str) -> bool:
    return re.fullmatch(expression, text, re.DOTALL) is not None


@pytest.mark.parametrize("piece", PIECES)
def test_a_shells_glob_is_read_as_fnmatch_reads_it(piece):
    for pattern in (piece, *(piece + other for other in PIECES)):
        expression = to_expression(parse_shell_name(pattern), crosses=True)
        wildcard = Wildcard(parse_shell_name(pattern))
        expected = [fnmatch.fnmatchcase(name, pattern) for name in NAMES]
        assert [matches(expression, name) for name in NAMES] == expected, pattern
        assert [*map(wildcard.meets, NAMES)] == expected, pattern


@pytest.mark.parametrize("piece", PIECES)
def test_an_expression_and_a_wildcard_fit_the_same_names(piece):
    for pattern in (piece, *(piece + other for other in (*PIECES, "[\\]]", "[[:alpha:]-]"))):
        expression = to_expression(parse_name(pattern))
        wildcard = name_pattern(pattern)
        for name in NAMES:
            assert matches(expression, name) == wildcard.meets(name), (pattern, name)


@pytest.mark.parametrize("pattern", MALFORMED)
def test_what_is_malformed_stands_for_itself_or_fits_nothing_for_git(pattern):
    strict = Wildcard(parse_name(pattern, is_strict=True))
    assert not any(map(strict.meets, (*NAMES, pattern)))
    assert name_pattern(pattern).meets(pattern) or pattern == "[[:none:]]"


def test_a_set_within_a_name_has_no_slash():
    assert not matches(to_expression(parse_name("a[!b]c")), "a/c")
    assert matches(to_expression(parse_shell_name("a[!b]c"), crosses=True), "a/c")


def test_many_stars_take_no_time():
    began = time.monotonic()
    assert not matches(to_expression(parse_name("*a" * 60 + "b")), "a" * 20_000)
    assert not name_pattern("*a" * 60 + "b").meets("a" * 20_000)
    assert not is_made_of(("*a" * 60 + "b").split("*"), "a" * 20_000)
    assert time.monotonic() - began < 10
