from __future__ import annotations

import pytest

from repomap.model import LINE_CHARS
from repomap.structure import describe_structure

SAMPLES = [
    (
        "python",
        '"""Doc of it. More."""\nfrom ..a import b\nimport c.d\n\n'
        "class A:\n    def f(self): return 1\n",
        [("A", "class"), ("A.f", "method")],
        ["..a", "c.d"],
        "Doc of it.",
    ),
    (
        "javascript",
        "// Routes.\nimport x from './x'\nconst y = require('y')\nfunction f() {}\n"
        "class B { m() {} }\n",
        [("f", "function"), ("B", "class"), ("B.m", "method")],
        ["./x", "y"],
        "Routes.",
    ),
    (
        "typescript",
        "export * from '../z'\nexport interface I { a: string }\nexport function g(): void {}\n",
        [("I", "type"), ("g", "function")],
        ["../z"],
        "",
    ),
    (
        "go",
        '// Package p does it.\npackage p\n\nimport (\n\t"fmt"\n\t"m/q"\n)\n\n'
        "func (s *S) Run() {}\n",
        [("S.Run", "method")],
        ["fmt", "m/q"],
        "Package p does it.",
    ),
    (
        "rust",
        "//! Crate of it.\nuse crate::a::b;\nmod c;\npub fn f() {}\nimpl T { fn g(&self) {} }\n",
        [("c", "module"), ("f", "function"), ("T", "module"), ("T.g", "method")],
        ["crate::a::b", "c"],
        "Crate of it.",
    ),
    (
        "java",
        "package p;\nimport a.b.C;\n/** Does it. */\nclass D { void m() {} }\n",
        [("D", "class"), ("D.m", "method")],
        ["a.b.C"],
        "Does it.",
    ),
    (
        "c",
        '#include "x.h"\n#include <stdio.h>\nint f(int a) { return a; }\n',
        [("f", "function")],
        ["x.h", "stdio.h"],
        "",
    ),
    (
        "ruby",
        "require_relative 'a'\nrequire 'b'\nclass C\n  def m; end\nend\n",
        [("C", "class"), ("C.m", "method")],
        ["a", "b"],
        "",
    ),
    (
        "markdown",
        "# Top\n\n```\n# no\n```\n## Low\n",
        [("Top", "heading"), ("Low", "heading")],
        [],
        "Top",
    ),
]


@pytest.mark.parametrize(
    ("language", "text", "symbols", "imports", "purpose"), SAMPLES, ids=[row[0] for row in SAMPLES]
)
def test_a_file_is_described(language, text, symbols, imports, purpose):
    found = describe_structure(text.encode(), language)
    assert [(one.full_name, one.kind) for one in found.symbols] == symbols
    assert [one.module for one in found.imports] == imports
    assert found.purpose == purpose
    assert found.note == ""


def test_a_skeleton_has_signatures_with_their_documentation():
    text = (
        "class A(Base):\n"
        '    """Holds it.\n\n    More."""\n\n'
        "    # Adds one.\n"
        "    def f(self, a: int,\n          b: int) -> int:\n        return a\n"
    )
    found = describe_structure(text.encode(), "python")
    assert found.skeleton.split("\n") == [
        "class A(Base)  # Holds it.",
        "  def f(self, a: int, b: int) -> int  # Adds one.",
    ]


@pytest.mark.parametrize(
    ("text", "purpose"),
    [
        ("#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# Counts.\n", "Counts."),
        ("# Copyright 2020 A\n# All rights reserved.\n\n# Counts.\n", "Counts."),
        ("import a\n", ""),
        ('"""Counts\nthings. And more."""\n', "Counts things."),
    ],
)
def test_a_purpose_is_no_licence_and_no_first_line_of_a_script(text, purpose):
    assert describe_structure(text.encode(), "python").purpose == purpose


HOSTILE = {
    "empty": b"",
    "nul": b"def f():\0\n",
    "no utf-8": b"def f\xff\xfe():\n    pass\n" * 50,
    "deep": b"(" * 20_000,
    "deep blocks": b"".join(b" " * n + b"if x:\n" for n in range(400)),
    "other language": b"<html><body>" + b"<div class='x'>text</div>\n" * 2000,
    "comments": b"/*" * 5000,
    "quotes": b'"""' * 3001,
    "long names": b"def " + b"x" * 9000 + b"(): pass\n",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize(
    "language", ["python", "javascript", "go", "rust", "c", "ruby", "markdown", None, "nonesuch"]
)
def test_no_text_makes_it_fail(data, language):
    found = describe_structure(data, language)
    lines = data.count(b"\n") + 1
    assert all(1 <= one.start_line <= one.end_line <= lines for one in found.symbols)
    assert len(found.purpose) <= LINE_CHARS
