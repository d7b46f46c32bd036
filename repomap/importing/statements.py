"""Statements that import, as lines of text: their keywords, aliases and names in braces."""

from __future__ import annotations

import re

ALIAS = re.compile(r" (?:as|=>) ")
_USES_MAX = 100
_SPLIT = re.compile(r"[{},]")


def drop_keywords(text: str, *words: str) -> str:
    """Return a statement without its leading keywords and its semicolon."""
    text = text.rstrip("; ")
    for word in words:
        text = text.removeprefix(f"{word} ").lstrip()
    return text


def split_uses(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return each path with the names in its braces: `a, b.{c, d}` are `a`, and `b.` with two
    names."""
    found: list[tuple[str, tuple[str, ...]]] = []
    names: list[str] = []
    prefix, at, is_open = "", 0, False
    for match in [*_SPLIT.finditer(text), None]:
        part = ALIAS.split(text[at : match.start() if match else len(text)], maxsplit=1)[0]
        part = part.strip()
        at = match.end() if match else at
        mark = match[0] if match else ""
        if mark == "{":
            prefix, names, is_open = part, [], True
        elif is_open:
            names += [part] if part else []
            if mark in ("}", ""):
                found.append((prefix, tuple(names[:_USES_MAX])))
                is_open = False
        elif part:
            found.append((part, ()))
    return found[:_USES_MAX]
