"""Where a program that is typed ends, language by language."""

from __future__ import annotations

import io

import pytest

from ctxmode.commands.repl import build_pipe_reader, is_complete
from runtimes import LANGUAGES, language

COMPLETE = {
    "python": ["x = 1", "", "print('(')", "f(1, 2)", "for i in x:\n  y\n", 'a = "{"', "x = )"],
    "javascript": ["let x = {a: 1}", "f(`a`)", "if (x) { y }", "x = )", "// note {"],
    "ruby": ["puts 1 if x", "def f\n 1\nend", "[1].each do |x|\n p x\nend", "x = )"],
    "shell": ["echo done", "for i in 1; do\n echo\ndone", "cat <<E\na\nE", "echo )", "a; b"],
    "r": ["x <- 1", "f <- function(x) {\n x\n}", "c(1,\n2)"],
    "lua": ["x = 1", "if x then\n y()\nend", "return 1"],
    "perl": ["my $x = 1;", "$x", "sub f { 1 }"],
    "php": ["$x = 1", "$x = 1;", "function f() { return 1; }", "<?php echo 1;"],
    "elixir": ["x = 1", "defmodule A do\n def f, do: 1\nend", "IO.puts(1)"],
}
OPEN = {
    "python": ["f(1,", "def f():", "def f():\n    x", "x = [", '"""a', "a \\", "@f", "if x: # a"],
    "javascript": ["f(", "function f() {", "`a", "const x =", "if (x)"],
    "ruby": ["def f", "[1, 2].each do", "x = [1,", "if x", "class A\n def f", "x = 1 +", '"a'],
    "shell": ["if true; then", "for i in 1; do", "f() {", "a |", "a &&", 'echo "a', "cat <<E\na"],
    "r": ["f <- function(x) {", "x <-", "c(1,", "x |>"],
    "lua": ["function f()", "if x then", "x = {", "for i = 1, 2 do", "x = 1 +"],
    "perl": ["sub f {", "f(", "if ($x) {"],
    "php": ["function f() {", "f(", "if ($x) {"],
    "elixir": ["defmodule A do", "fn x ->", "x = [1,", "1 +"],
}
ROWS = [(name, text, True) for name, texts in COMPLETE.items() for text in texts]
ROWS += [(name, text, False) for name, texts in OPEN.items() for text in texts]


@pytest.mark.parametrize(("name", "text", "expected"), ROWS)
def test_a_program_goes_on_while_something_is_open(name, text, expected):
    assert is_complete(text, language(name)) is expected
    assert is_complete(f"{text}\n", language(name))  # an empty line ends it in any case


def test_every_language_that_converses_has_programs_here():
    assert set(COMPLETE) == set(OPEN) == {row.name for row in LANGUAGES if row.conversation}


def test_a_language_whose_programs_start_anew_is_given_all_up_to_an_empty_line():
    assert not is_complete("package main", language("go"))
    assert is_complete("package main\nfunc main() {}\n", language("go"))


async def test_a_pipe_is_cut_into_programs():
    typed = "x = 1\ndef f():\n    return x\n\n.help\nf()\n(1,"
    read = build_pipe_reader(io.StringIO(typed), language("python"))
    found = []
    while (text := await read()) is not None:
        found.append(text)
    assert found == ["x = 1", "def f():\n    return x\n", ".help", "f()", "(1,"]
