"""Errors name the line that was written: completing or binding a program moves none."""

from __future__ import annotations

import re

import pytest

from runtimes.registry import LANGUAGES, language
from tests.samples import read_samples

# Each fails in its third line, at compile time or when run; the second names how that is said.
FAILS_IN_LINE_3 = read_samples("line_3")

WHOLE_PROGRAMS = {
    "go": ("package main\n\nfunc main() { boom() }", "main.go:3"),
    "rust": ("fn main() {\n\nboom(); }", "main.rs:3"),
    "csharp": ("class P {\n static void Main() {\n boom; } }", r"main.cs[:(]3"),
    "java": ("class M {\n public static void main(String[] a) {\n boom(); } }", "Main.java:3"),
    "c": ("#include <stdio.h>\nint main(void) {\n boom; }", "main.c:3"),
    "cpp": ("#include <vector>\nint main() {\n boom; }", "main.cpp:3"),
    "go imports": ('import "strings"\n\nboom(strings.ToUpper(""))', "main.go:3"),
    "java imports": ("import java.util.List;\n\nboom();", "Main.java:3"),
    "c includes": ("#include <stdio.h>\n\nboom;", "main.c:3"),
    "csharp usings": ("using System.Text;\n\nboom;", r"main.cs[:(]3"),
    "csharp types": ("var a = 1;\nclass P {\n int b = boom; }", r"main.cs[:(]3"),
}

CASES = {**FAILS_IN_LINE_3, **WHOLE_PROGRAMS}


def test_every_language_that_names_lines_is_here():
    # R names the failing call instead.
    assert {row.name for row in LANGUAGES} - FAILS_IN_LINE_3.keys() == {"r"}


@pytest.mark.parametrize("bound", [False, True], ids=["alone", "with a bound file"])
@pytest.mark.parametrize("case", CASES)
def test_an_error_names_the_line_that_was_written(case, bound, runners, tmp_path):
    code, named = CASES[case]
    file = tmp_path / "bound.txt"
    file.write_text("text\n")
    for run in runners(language(case.split()[0])):
        outcome = run(code, bind_file=file if bound else None)
        assert outcome.exit_code != 0
        assert_matches(named, outcome.stdout + outcome.stderr, run.name)


def assert_matches(pattern, text, name):
    assert re.search(pattern, text), f"{name}: {pattern!r} is not in {text!r}"
