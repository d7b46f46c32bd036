"""Purpose of a file or a definition in one line: the first sentence of its documentation."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from repomap.model import LINE_CHARS, Symbol

if TYPE_CHECKING:
    from kb.parsing import Definition

_HEADING = re.compile(r"(#{1,3})[ \t]+(\S.*)")
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")


def find_headings(data: bytes) -> tuple[Symbol, ...]:
    """Return the headings of levels 1 to 3 outside fenced code, each up to the next."""
    lines = data.decode("utf-8", "replace").split("\n")
    found: list[tuple[int, str]] = []
    fence = ""
    for number, line in enumerate(lines, 1):
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (heading := _HEADING.match(line)):
            name = " ".join(heading[2].strip("# \r").split())
            found.append((number, name[:LINE_CHARS]))
    ends = [start - 1 for start, _ in found[1:]] + [len(lines)] * bool(found)
    return tuple(
        Symbol(name, "heading", "", start, max(start, end), name)
        for (start, name), end in zip(found, ends, strict=True)
        if name
    )


HEAD_BYTES = 8192
_HEAD_LINES = 80
_LINE_COMMENT = re.compile(
    r"#+(?!include|define|import|if|ifdef|ifndef|else|endif|pragma|undef)'?|//+!?|--+[ \t]*[|^]?"
    r"|;+|%+|@(?:moduledoc|doc|typedoc)[ \t]+(?=\"(?!\"))"
)
_BLOCK = re.compile(
    r"(?:@\w{3,12}[ \t])?[rRuU]?(\"\"\"|''')|(/\*)[*!]*|(<!--)|(\{-)[|^]?|(\(\*)\**|(<#)|(--\[\[)"
    r"|(=begin)\b"
)
_ENDS = {
    '"""': '"""',
    "'''": "'''",
    "/*": "*/",
    "<!--": "-->",
    "{-": "-}",
    "(*": "*)",
    "<#": "#>",
    "--[[": "]]",
    "=begin": "=end",
}
"""The ends of multi-line comments, by their beginnings."""

_LEGAL = re.compile(
    r"copyright|licen[sc]e|spdx|all rights reserved|permission is hereby|redistribution and use",
    re.IGNORECASE,
)
_FOR_TOOLS = re.compile(
    r"#!|#\[|\{-#|\W{0,8}(?:coding[:=]|eslint|jshint|@flow|vim?:|prettier|go:build|\+build"
    r"|pragma|nolint|noqa|mypy:|pylint|ruff|ts-|doctype|frozen_string)",
    re.IGNORECASE,
)
"""Lines for tools, not for readers."""

_TAG = re.compile(r"</?\w{1,20}/?>")
_QUOTED = re.compile(rb"[ \t\r\n:]{0,400}[rRuUbB]{0,2}(\"\"\"|'''|\"|')")
_BEFORE = (
    "#", "package ", "<?php", "using ", "import ", "'use ", '"use ', "namespace ", "use ",
    "declare(", "defmodule ", "global ", "require", "include",
)  # fmt: skip
"""Lines that may come before a program's documentation."""

_UNDERLINE = re.compile(r"([=\-~^\"'`#*+])\1{2,}")
_PROSE = frozenset(["rst", "asciidoc", "text"])
_DATA = frozenset(["json", "yaml", "toml", "csv", "xml", "html", "svg"])


def describe_purpose(data: bytes, language: str | None) -> str:
    """Return the first sentence of a program's documentation, or a text's first heading; empty if
    it has none."""
    text = data[:HEAD_BYTES].decode("utf-8", "ignore")
    if language in _DATA:
        return ""
    if language == "markdown" and (headings := find_headings(data[:HEAD_BYTES])):
        return headings[0].name
    if language in (None, "markdown") or language in _PROSE:
        return _describe_text(text)
    for paragraph in _find_paragraphs(text):
        if sentence := _first_sentence(paragraph):
            return sentence
    return ""


def _describe_text(text: str) -> str:
    """Return the first underlined line, else the first with more than marks."""
    lines = [" ".join(line.split()) for line in text.splitlines()[:_HEAD_LINES]]
    for line, below in pairwise(lines):
        if line and _UNDERLINE.fullmatch(below) and not _UNDERLINE.fullmatch(line):
            return line[:LINE_CHARS]
    bare = (line.strip("#=-*~ ") for line in lines if not line.startswith(".. "))
    return next((line for line in bare if line), "")[:LINE_CHARS]


def find_note(data: bytes, one: Definition) -> str:
    """Return the first line of a definition's documentation, above or within it."""
    above = data[one.start : one.node.start_byte][:2048].decode("utf-8", "ignore")
    for paragraph in _find_paragraphs(above):
        return paragraph[0][:LINE_CHARS]
    body = one.node.child_by_field_name("body")
    if body is None or one.node.type not in ("function_definition", "class_definition"):
        return ""
    quoted = _QUOTED.match(data, body.start_byte)
    if quoted is None:
        return ""
    text = data[quoted.end() : quoted.end() + 400].decode("utf-8", "ignore")
    lines = text.partition(quoted[1].decode())[0].strip().splitlines()
    return " ".join(lines[0].split())[:LINE_CHARS] if lines else ""


def _find_paragraphs(text: str) -> list[list[str]]:
    """Return the first paragraph of each comment that has words and is not a licence."""
    found = []
    for comment in _find_comments(text):
        paragraph: list[str] = []
        for line in comment:
            if any(char.isalnum() for char in line):
                paragraph.append(line)
            elif paragraph:
                break
        if paragraph and not any(_LEGAL.search(line) for line in paragraph):
            found.append(paragraph)
    return found


def _find_comments(text: str) -> list[list[str]]:
    """Return the comments at the beginning of a program, as lines without their marks."""
    comments: list[list[str]] = [[]]
    end = ""
    for line in text.splitlines()[:_HEAD_LINES]:
        bare = line.strip()
        if end:
            inner, is_over, _ = bare.partition(end)
            comments[-1].append(_clean(inner.lstrip("* ") if end == "*/" else inner))
            end = "" if is_over else end
        elif not bare:
            comments.append([])
        elif _FOR_TOOLS.match(bare):
            continue
        elif begin := _BLOCK.match(bare):
            end = _ENDS[next(mark for mark in begin.groups() if mark)]
            inner, is_over, _ = bare[begin.end() :].partition(end)
            comments.append([_clean(inner)])
            end = "" if is_over else end
        elif mark := _LINE_COMMENT.match(bare):
            comments[-1].append(_clean(bare[mark.end() :]).strip('"'))
        elif not bare.startswith(_BEFORE):
            break
    return comments


def _clean(line: str) -> str:
    return " ".join(_TAG.sub("", line).split())


def _first_sentence(paragraph: list[str]) -> str:
    sentence, dot, _ = " ".join(paragraph).partition(". ")
    return (sentence + dot.strip())[:LINE_CHARS].strip()
