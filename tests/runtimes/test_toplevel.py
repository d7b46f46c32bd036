"""JavaScript programs whose top-level names are to outlive them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtimes.languages.javascript.global_names import globalize, globalize_and_show
from runtimes.languages.perl.row import share_names

OPENING = "(async () => { "
REWRITTEN = [
    ("const a = 1, b = f()", ";( a = 1, b = f());"),
    ("let u;", ";( u = undefined);"),
    ("var v;", ";( v);"),
    ("const {x, y: [z = 1, ...w], ...r} = o;", ";( {x, y: [z = 1, ...w], ...r} = o);"),
    ("class C extends D {}", ";C = class C extends D {};"),
    ('import d from "m"', ';({ default: d } = await import("m"));'),
    ('import * as ns from "m";', ';(ns = await import("m"));'),
    (
        'import {a, b as c, default as e} from "m"',
        ';({ a: a, b: c, default: e } = await import("m"));',
    ),
    (
        'import d, {a} from "m"',
        ';({ default: d } = await import("m")); ({ a: a } = await import("m"));',
    ),
    ('import "m"', ';(await import("m"));'),
    (
        'import data from "./d.json" with { type: "json" }',
        ';({ default: data } = await import("./d.json", { with: { type: "json" } }));',
    ),
    ("export const a = 1;", ";;( a = 1);"),
    ("export default 5", ";(5)"),
    ("export default () => 5", ";(() => 5)"),
    ("export { a };", ";"),
    ("#!/usr/bin/env node", "//#!/usr/bin/env node"),
    ("for (const i of [1]) { let x = i; }", "for (const i of [1]) { let x = i; }"),
    ("f(); // const a = 1", "f(); // const a = 1"),
]


@pytest.mark.parametrize(("code", "expected"), REWRITTEN)
def test_a_statement_becomes_one_that_reaches_the_global_object(code, expected):
    body = globalize(code).partition(OPENING)[2]
    assert body == f"{expected}\n}})()"


NAMES = [
    ("const {x, y: [z = 1, ...w], p: {q: r}} = o", '["x", "z", "w", "r"]'),
    ("function f(a, b) { const c = 1 }", '["f"]'),
    ("async function* g() {}", '["g"]'),
    ('import d, {a as b} from "m"; class C {}', '["d", "b", "C"]'),
    ("const {a = f(b)} = c", '["a"]'),
]


@pytest.mark.parametrize(("code", "names"), NAMES)
def test_exactly_the_top_level_names_are_declared(code, names):
    assert f"of {names})" in globalize(code)


def test_functions_are_there_before_the_first_line_but_behind_a_directive():
    program = globalize('"use strict";\nf();\nfunction f() {}')
    assert f'{OPENING}"use strict";globalThis.f = f; \nf();' in program


def test_code_without_declarations_is_only_wrapped():
    assert globalize("f()") == "(async () => { f()\n})()"


@given(
    st.lists(
        st.sampled_from(
            [
                *(code for code, _ in REWRITTEN),
                "",
                "function f() {\n  return 1;\n}",
                "x = `\n`",
                "(",
            ]
        ),
        max_size=8,
    )
)
def test_every_line_stays_where_it_was(statements):
    code = "\n".join(statements)
    assert globalize(code).count("\n") == code.count("\n") + 1


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_is_rewritten_without_an_error(code):
    assert globalize(code).endswith("\n})()")


@pytest.mark.parametrize(
    ("code", "rewritten"),
    [
        ("f(); a + 1; // late", "f(); return { value: (a + 1) }; // late"),
        ("{a: 1}", "return { value: (({a: 1})) }"),
        ("{ f(); }", "{ f(); }"),
        ("const a = 1", ";( a = 1);"),
        ("'text'", "return { value: ('text') }"),
        ("", ""),
    ],
)
def test_a_person_is_given_the_value_of_the_last_expression(code, rewritten):
    assert f"{OPENING}{rewritten}\n}})()" in globalize_and_show(code)


@pytest.mark.parametrize(
    ("code", "rewritten"),
    [
        ("my $x = 1; my ($a, @b);", "our $x = 1; our ($a, @b);"),
        ("sub f { my $x = 1 } for my $i (1) { }", "sub f { my $x = 1 } for my $i (1) { }"),
        ("print 'my $x'", "print 'my $x'"),
    ],
)
def test_perls_names_at_the_top_are_the_packages(code, rewritten):
    assert share_names(code) == rewritten
