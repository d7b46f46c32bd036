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


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a {b {c} d} e", "a {       } e"),
        ("a {b} {c\nd} } e", "a { } { \n } } e"),
        ("a {b", "a { "),
        ("", ""),
    ],
)
def test_the_surface_is_what_stands_in_no_block(text, left):
    assert lexing.surface(text) == left


def test_the_surface_may_keep_some_blocks():
    text = "if (x) { a } f() { b { c } } d"
    kept = lexing.surface(text, lambda before: before.endswith("f() "))
    assert kept == "if (x) { a } f() {         } d"


@pytest.mark.parametrize("lexer", LEXERS)
@pytest.mark.parametrize("unit", ["{", "}", '"', 'r#"', 'R"(', '"""', "/*", "'", '@"', "[", "//"])
def test_a_hostile_text_is_read_once(lexer, unit):
    # Were any part quadratic, this would take hours.
    text = unit * (300_000 // len(unit))
    assert len(lexing.surface(lexing.blank(text, lexer))) == len(text)


def test_leading_statements_end_where_another_begins():
    statement = re.compile(r"\s*import\s+\w+;")
    assert lexing.after_leading("import a;\nimport b;\nx; import c;", statement) == 19
    assert lexing.after_leading("x;", statement) == 0
