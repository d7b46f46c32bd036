"""Which kind a source is taken for, and what decides it."""

from __future__ import annotations

import pytest

from kb.detect import detect


@pytest.mark.parametrize(
    ("name", "kind", "language"),
    [
        ("README.md", "markdown", "markdown"),
        ("a/b.mdx", "markdown", "markdown"),
        ("notes.txt", "text", None),
        ("x.py", "code", "python"),
        ("x.pyi", "code", "python"),
        ("x.h", "code", "c"),
        ("x.hpp", "code", "cpp"),
        ("x.cs", "code", "csharp"),
        ("x.tsx", "code", "tsx"),
        ("x.mjs", "code", "javascript"),
        ("x.rb", "code", "ruby"),
        ("Makefile", "code", "make"),
        ("Dockerfile", "code", "dockerfile"),
        ("x.R", "code", "r"),
        ("x.json", "json", "json"),
        ("x.jsonl", "jsonl", "jsonl"),
        ("x.yml", "yaml", "yaml"),
        ("x.toml", "toml", "toml"),
        ("setup.cfg", "toml", "ini"),
        ("x.csv", "csv", "csv"),
        ("x.tsv", "csv", "tsv"),
        ("x.xml", "xml", "xml"),
        ("x.svg", "xml", "xml"),
        ("x.html", "html", "html"),
        ("x.rst", "rst", "restructuredtext"),
        ("x.adoc", "asciidoc", "asciidoc"),
        ("x.patch", "diff", "diff"),
        ("x.ipynb", "notebook", None),
        ("x.log", "log", None),
        ("C:\\src\\x.go", "code", "go"),
        ("unknown.zzz", "text", None),
        ("no suffix", "text", None),
    ],
)
def test_the_name_decides(name: str, kind: str, language: str | None) -> None:
    detected = detect(b"# could be anything\n", name=name)
    assert (detected.kind, detected.language) == (kind, language)


@pytest.mark.parametrize(
    ("first_line", "language"),
    [
        (b"#!/bin/sh\n", "bash"),
        (b"#!/usr/bin/env python3.12\n", "python"),
        (b"#!/usr/bin/env -S node --test\n", "javascript"),
        (b"#! /usr/bin/perl -w\n", "perl"),
    ],
)
def test_a_shebang_decides_where_the_name_does_not(first_line: bytes, language: str) -> None:
    detected = detect(first_line + b"x\n", name="tool")
    assert (detected.kind, detected.language, detected.by) == ("code", language, "shebang")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b'{"a": 1}', "json"),
        (b'[\n  {"a": 1}\n]', "json"),
        (b"[1, 2, 3]", "json"),
        (b'{"a": 1}\n{"a": 2}\n', "jsonl"),
        (b"[1] 4 5 6\n[4] 7 8 9\n", "text"),
        (b"[info] started\n", "text"),
        (b"diff --git a/x b/x\nindex 1..2\n", "diff"),
        (b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "diff"),
        (b"<?xml version='1.0'?><a/>", "xml"),
        (b"<!DOCTYPE html><html>", "html"),
        (b"==================== test session starts ====================\n", "tests"),
        (b"running 3 tests\ntest a ... ok\n", "tests"),
        (b"a.c:3:5: error: no\n  x\na.c:4:5: warning: hm\n", "compiler"),
        (b"goroutine 1 [running]:\nmain.main()\n", "stacks"),
        (b"2024-05-01 10:00:00 a\n2024-05-01 10:00:01 b\n", "log"),
        (b"May  1 10:00:00 host a\nMay  1 10:00:01 host b\n", "log"),
        (b"Traceback (most recent call last):\n  File", "log"),
        (b"# a heading\n\n# or a shell comment\n", "text"),
        (b"", "text"),
        (b"\0\1\2", "text"),
    ],
)
def test_shape_decides_what_has_no_name(data: bytes, kind: str) -> None:
    assert detect(data).kind == kind


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("application/json; charset=utf-8", "json"),
        ("application/vnd.api+json", "json"),
        ("text/html", "html"),
        ("text/markdown", "markdown"),
        ("application/atom+xml", "xml"),
        ("text/x-python", "code"),
        ("text/plain", "text"),
        ("nonsense", "text"),
    ],
)
def test_a_media_type_decides(media_type: str, kind: str) -> None:
    assert detect(b"plain words", media_type=media_type).kind == kind


def test_what_is_said_goes_before_everything() -> None:
    detected = detect(b'{"a": 1}', name="x.py", media_type="text/html", kind="text")
    assert (detected.kind, detected.by) == ("text", "said")
    assert detect(b"x", name="x.py", language="JS").language == "javascript"
    assert detect(b"x", language="yml").kind == "yaml"
