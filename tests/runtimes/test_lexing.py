"""Blanking keeps offsets and lines, and leaves only code."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtimes import toplevel

LEXERS = [toplevel.C, toplevel.CSHARP, toplevel.GO, toplevel.JAVA, toplevel.RUST]


@pytest.mark.parametrize(
    ("lexer", "text", "left"),
    [
        (toplevel.GO, "a // main\nb /* main\n */ c", "a b c"),
        (toplevel.GO, 's := `main\nmain` + "ma\\"in" + \'m\'', "s := + +"),
        (toplevel.C, 'x = "unclosed main\ny', "x = y"),
        (toplevel.C, 'R"(main " main)" y', "y"),
        (toplevel.CSHARP, '@"c:\\" a $"{main}" b """m"ain""" c', "a b c"),
        (toplevel.JAVA, '"""\nmain "quoted"\n""" a', "a"),
        (toplevel.RUST, "fn f<'a>(x: &'a str, c: char) { c == 'x' || c == '\\n' }", None),
        (toplevel.RUST, 'r#"main "inner" main"# a "two\nlines" b', "a b"),
        (toplevel.C, "/* unclosed main", ""),
    ],
)
def test_comments_and_strings_are_blanked(lexer, text, left):
    blanked = toplevel.blank(text, lexer)
    if left is None:
        assert blanked == text.replace("'x'", "   ").replace("'\\n'", "    ")
    else:
        assert " ".join(blanked.split()) == left


@given(st.sampled_from(LEXERS), st.text("ab{}\"'`/*\\\n #rR@$()", max_size=80))
def test_offsets_and_line_breaks_stay(lexer, text):
    blanked = toplevel.blank(text, lexer)
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
    assert toplevel.surface(text) == left


def test_the_surface_may_keep_some_blocks():
    text = "if (x) { a } f() { b { c } } d"
    kept = toplevel.surface(text, lambda before: before.endswith("f() "))
    assert kept == "if (x) { a } f() {         } d"


@pytest.mark.parametrize("lexer", LEXERS)
@pytest.mark.parametrize("unit", ["{", "}", '"', 'r#"', 'R"(', '"""', "/*", "'", '@"', "[", "//"])
def test_a_hostile_text_is_read_once(lexer, unit):
    # Were any part quadratic, this would take hours.
    text = unit * (300_000 // len(unit))
    assert len(toplevel.surface(toplevel.blank(text, lexer))) == len(text)


def test_leading_statements_end_where_another_begins():
    statement = re.compile(r"\s*import\s+\w+;")
    assert toplevel.after_leading("import a;\nimport b;\nx; import c;", statement) == 19
    assert toplevel.after_leading("x;", statement) == 0
