"""Blanking keeps offsets and lines, and leaves only code."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtimes import lexing

LEXERS = [lexing.C, lexing.CSHARP, lexing.GO, lexing.JAVA, lexing.RUST]


@pytest.mark.parametrize(
    ("lexer", "text", "left"),
    [
        (lexing.GO, "a // main\nb /* main\n */ c", "a b c"),
        (lexing.GO, 's := `main\nmain` + "ma\\"in" + \'m\'', "s := + +"),
        (lexing.C, 'x = "unclosed main\ny', "x = y"),
        (lexing.C, 'R"(main " main)" y', "y"),
        (lexing.CSHARP, '@"c:\\" a $"{main}" b """m"ain""" c', "a b c"),
        (lexing.JAVA, '"""\nmain "quoted"\n""" a', "a"),
        (lexing.RUST, "fn f<'a>(x: &'a str, c: char) { c == 'x' || c == '\\n' }", None),
        (lexing.RUST, 'r#"main "inner" main"# a "two\nlines" b', "a b"),
        (lexing.C, "/* unclosed main", ""),
    ],
)
def test_comments_and_strings_are_blanked(lexer, text, left):
    blanked = lexing.blank(text, lexer)
    if left is None:
        assert blanked == text.replace("'x'", "   ").replace("'\\n'", "    ")
    else:
        assert " ".join(blanked.split()) == left


@given(st.sampled_from(LEXERS), st.text("ab{}\"'`/*\\\n #rR@$()", max_size=80))
def test_offsets_and_line_breaks_stay(lexer, text):
    blanked = lexing.blank(text, lexer)
    assert len(blanked) == len(text)
    assert [i for i, c in enumerate(blanked) if c == "\n"] == [
        i for i, c in enumerate(text) if c == "\n"
    ]


def test_depth_counts_open_braces():
    assert [lexing.depth_at("a{b{c}d}e", offset) for offset in (0, 2, 4, 6, 8)] == [0, 1, 2, 1, 0]


def test_what_stands_in_braces_can_be_left_out():
    assert lexing.outside_braces("a {b {c} d} e") == "a   e"


def test_leading_statements_end_where_another_begins():
    statement = re.compile(r"\s*import\s+\w+;")
    assert lexing.after_leading("import a;\nimport b;\nx; import c;", statement) == 19
    assert lexing.after_leading("x;", statement) == 0
