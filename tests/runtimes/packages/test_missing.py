"""What programs say when a package is not there."""

from __future__ import annotations

import pytest

from runtimes.packages.registry import NAMED_MAX, find_missing

SAID = [
    ("python", "ModuleNotFoundError: No module named 'pandas'", ("pandas",)),
    ("python", "  ModuleNotFoundError: No module named 'sklearn'\r", ("scikit-learn",)),
    ("python", "ModuleNotFoundError: No module named 'tkinter'", ()),
    ("python", "ModuleNotFoundError: No module named 'numpy.nothing'", ()),
    ("python", "print(\"No module named 'pandas'\")", ()),
    ("javascript", "error: Cannot find module 'lodash/fp' from '/job/main.js'", ("lodash",)),
    ("javascript", "Error: Cannot find package '@a/b' imported from /job/m.mjs", ("@a/b",)),
    ("javascript", "Error: Cannot find module './mine'", ()),
    ("javascript", "Error: Cannot find module '/job/mine'", ()),
    ("typescript", 'error: Import "zod" not a dependency', ("zod",)),
    (
        "typescript",
        'error: Relative import path "@a/b/c" not prefixed with / or ./ or ../',
        ("@a/b",),
    ),
    (
        "ruby",
        "x.rb:1: in `require': cannot load such file -- nokogiri/x (LoadError)",
        ("nokogiri",),
    ),
    ("ruby", "in `require': cannot load such file -- ./mine (LoadError)", ()),
    (
        "go",
        "main.go:2:8: no required module provides package github.com/google/uuid: go.mod file",
        ("github.com/google/uuid",),
    ),
    ("rust", "error[E0463]: can't find crate for `rand`", ("rand",)),
    ("rust", " ^^^^^ use of undeclared crate or module `serde`", ("serde",)),
    ("rust", "error[E0433]: use of undeclared type `HashMap`", ()),
    ("r", "there is no package called \N{LEFT SINGLE QUOTATION MARK}dplyr", ("dplyr",)),
    ("perl", "Can't locate A/B.pm in @INC (you may need to install the A::B module) (", ("A::B",)),
    ("lua", "/usr/bin/lua5.4: /job/main.lua:1: module 'cjson.safe' not found:", ("lua-cjson",)),
    ("shell", "sh: 1: pandas: not found", ()),
]


@pytest.mark.parametrize(("language", "text", "packages"), SAID)
def test_the_words_of_a_language_name_what_is_not_there(language, text, packages):
    assert find_missing(language, f"before\n{text}\nafter\n") == packages


def test_each_is_named_once_and_few_are():
    lines = [f"ModuleNotFoundError: No module named 'm{n // 2}'" for n in range(20)]
    assert find_missing("python", "\n".join(lines)) == tuple(f"m{n}" for n in range(NAMED_MAX))


@pytest.mark.parametrize("language", ["python", "javascript", "ruby", "go", "rust", "r"])
def test_hostile_text_names_nothing(language):
    hostile = [
        "Cannot find module '" * 5000,
        "Cannot find module '" + "@a" * 50_000,
        "no required module provides package " + "a/" * 50_000,
        "\n".join(["No module named '" + "a" * 3000] * 1000),
        "ModuleNotFoundError: No module named '-rf'",
        "Cannot find module '$(id)'",
        "cannot load such file -- ;id",
    ]
    assert [find_missing(language, text) for text in hostile] == [()] * len(hostile)
