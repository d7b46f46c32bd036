"""Which sources compile to the same product everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import runtimes

ALONE = {
    "c": "#include <stdio.h>\n# include <sys/stat.h>\nx.increment(); // include this",
    "cpp": "#include <vector>\nauto y = z.include(1);",
    "go": 'import "fmt"',
    "rust": "use std::io; mod inner { }",
    "java": "import java.util.List;",
    "csharp": "using System;",
}
REACHING = {
    "c": ['#include "x.h"', "#include X", "#include <../x.h>", "#import <x>", "#embed <x>"],
    "cpp": ["#  include\t'x'", "__has_include(<x>)", "__TIMESTAMP__", 'asm(".incbin \\"x\\"")'],
    "go": ["//go:embed x", 'import "C"'],
    "rust": ['include_str!("x")', 'include!("x")', "mod x;", '#[path = "x"] mod y {}'],
}


def inputs(language: str):
    return [t.inputs for t in runtimes.language(language).toolchains if t.compile]


@pytest.mark.parametrize("language", ALONE)
def test_a_plain_source_stands_alone(language):
    assert inputs(language)
    assert not any(runtimes.reaches(i, ALONE[language]) for i in inputs(language))


@pytest.mark.parametrize(("language", "code"), [(n, c) for n, cs in REACHING.items() for c in cs])
def test_a_source_that_names_further_files_or_the_time_reaches(language, code):
    assert all(runtimes.reaches(i, code) for i in inputs(language))


def test_files_beside_count_except_the_script_itself(tmp_path: Path):
    (java,) = inputs("java")
    script = tmp_path / "Main.java"
    script.touch()
    assert not runtimes.heeds(java, [tmp_path], except_for=str(script))
    assert runtimes.heeds(java, [tmp_path], except_for=None)
    (tmp_path / "Other.java").touch()
    assert runtimes.heeds(java, [tmp_path], except_for=str(script))
