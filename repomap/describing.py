"""What a file or a definition is for, in a line: its documentation's first sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from repomap.model import LINE_CHARS, Symbol

if TYPE_CHECKING:
    from kb.definitions import Definition

HEAD_BYTES = 8192
_MARKS = re.compile(
    r"^[ \t]*(?:#(?!include|define|import|if|pragma|undef)|//[/!]?|/\*+!?|\*+(?!/)|--\[?\[?|;+|%+"
    r"|r?\"{3}|'{3}|<!--)"
)
_ENDS = ("*/", '"""', "'''", "-->", "]]")
_LEGAL = re.compile(r"copyright|licen[sc]e|spdx|all rights reserved", re.IGNORECASE)
_FOR_TOOLS = re.compile(
    r"#!|\W*(?:coding[:=]|eslint|jshint|@flow|vim?:|prettier|go:build|\+build"
    r"|pragma|nolint|noqa|mypy:|pylint|ruff|ts-|doctype|frozen_string)",
    re.IGNORECASE,
)
"""Lines for tools, not for readers."""
_QUOTED = re.compile(rb"[ \t\r\n:]{0,400}[rRuUbB]{0,2}(\"\"\"|'''|\"|')")
_HEADING = re.compile(r"(#{1,3})[ \t]+(\S.*)")
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_BEFORE = ("#", "package ", "<?php", "using ", "import ", "'use ", '"use ')
"""What a program may begin with before its documentation."""

_PROSE = frozenset(["markdown", "rst", "asciidoc", "text"])
_DATA = frozenset(["json", "yaml", "toml", "csv", "xml", "html", "svg"])


def describe_purpose(data: bytes, language: str | None) -> str:
    """Return the first sentence of a program's documentation, or a text's first heading; empty
    where there is none."""
    text = data[:HEAD_BYTES].decode("utf-8", "ignore")
    if language in _DATA:
        return ""
    if language is None or language in _PROSE:
        lines = (line.strip("#=-*~ \t\r") for line in text.splitlines()[:40])
        return next((line for line in lines if line), "")[:LINE_CHARS]
    for block in _find_comments(text):
        sentence = _first_sentence(block)
        if sentence and not any(_LEGAL.search(line) for line in block):
            return sentence
    return ""


def _find_comments(text: str) -> list[list[str]]:
    """Return the comments with which a program begins, in blocks parted by empty lines."""
    blocks: list[list[str]] = [[]]
    is_open = ""
    for line in text.splitlines()[:80]:
        bare = line.strip()
        if is_open:
            blocks[-1].append(_without_marks(bare))
            is_open = "" if is_open in bare else is_open
        elif not bare:
            blocks.append([])
        elif _FOR_TOOLS.match(bare):
            continue
        elif _MARKS.match(line):
            for begin, end in (('"""', '"""'), ("'''", "'''"), ("/*", "*/"), ("<!--", "-->")):
                at = bare.find(begin)
                if at in (0, 1) and end not in bare[at + len(begin) :]:
                    is_open = end
            blocks[-1].append(_without_marks(bare))
        elif not bare.startswith(_BEFORE):
            break
    return [block for block in blocks if block]


def _without_marks(line: str) -> str:
    bare = _MARKS.sub("", line, count=1).strip()
    for end in _ENDS:
        bare = bare.removesuffix(end).strip()
    return bare


def _first_sentence(lines: list[str]) -> str:
    text = " ".join(line for line in lines if line and any(c.isalpha() for c in line))
    sentence, dot, _ = text.partition(". ")
    return (sentence + dot.strip())[:LINE_CHARS] if sentence else ""


def find_note(data: bytes, one: Definition) -> str:
    """Return the first line of a definition's documentation, above or within it."""
    above = data[one.start : one.node.start_byte][:2048].decode("utf-8", "ignore")
    for line in above.splitlines():
        bare = _without_marks(line.strip())
        if bare and not line.strip().startswith(("@", "#[", "[")):
            return bare[:LINE_CHARS]
    body = one.node.child_by_field_name("body")
    if body is None or one.node.type not in ("function_definition", "class_definition"):
        return ""
    quoted = _QUOTED.match(data, body.start_byte)
    if quoted is None:
        return ""
    text = data[quoted.end() : quoted.end() + 400].decode("utf-8", "ignore")
    text = text.partition(quoted[1].decode())[0].strip()
    return text.partition("\n")[0].strip()[:LINE_CHARS]


def find_headings(data: bytes) -> tuple[Symbol, ...]:
    """Return the headings of Markdown outside of fenced code, each up to the next."""
    lines = data.decode("utf-8", "replace").split("\n")
    found: list[tuple[int, str]] = []
    fence = ""
    for number, line in enumerate(lines, 1):
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (heading := _HEADING.match(line)):
            found.append((number, heading[2].strip("# \r")[:LINE_CHARS]))
    ends = [start - 1 for start, _ in found[1:]] + [len(lines)] * bool(found)
    return tuple(
        Symbol(name, "heading", "", start, max(start, end), name)
        for (start, name), end in zip(found, ends, strict=True)
        if name
    )
