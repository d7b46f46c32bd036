"""Import statements that are read as text: their grammars leave out dots, commas or stars."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from repomap.model import Import

MODULE_CHARS = 1000
_USES_MAX = 100
_SPLIT = re.compile(r"[{},]")
_ALIAS = re.compile(r" (?:as|=>) ")
_DOTTED = re.compile(r"[\w.@]+")
_PHP_FILE = re.compile(
    r"(?:require|include)(?:_once)?[ (]{0,4}(?:(?:__DIR__|dirname ?\( ?__FILE__ ?\)) ?\. ?)?"
    r"(?:'([^'$]{1,300})'|\"([^\"$]{1,300})\")[ )]{0,4}"
)


def _without(text: str, *words: str) -> str:
    """Return a statement without the words that it begins with, and its semicolon."""
    text = text.rstrip("; ")
    for word in words:
        text = text.removeprefix(f"{word} ").lstrip()
    return text


def _split_uses(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return each path with the names in its braces: `a, b.{c, d}` are `a` and `b.` with two."""
    found: list[tuple[str, tuple[str, ...]]] = []
    names: list[str] = []
    prefix, at, is_open = "", 0, False
    for match in [*_SPLIT.finditer(text), None]:
        part = _ALIAS.split(text[at : match.start() if match else len(text)], maxsplit=1)[0]
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


def _read_java(text: str) -> list[Import]:
    return [Import(_without(text, "import", "static").replace(" ", ""))]


def _read_kotlin(text: str) -> list[Import]:
    return [Import(_ALIAS.split(_without(text, "import"), maxsplit=1)[0].replace(" ", ""))]


def _read_scala(text: str) -> list[Import]:
    uses = _split_uses(_without(text, "import"))
    return [Import(path.rstrip(". ").replace(" ", ""), names) for path, names in uses]


def _read_csharp(text: str) -> list[Import]:
    bare = _without(text, "global", "using", "static", "unsafe").rpartition("=")[2]
    name = bare.partition("<")[0].strip().removeprefix("global::").replace(" ", "")
    return [Import(name)] if _DOTTED.fullmatch(name) else []  # others are tuples and arrays


def _read_php(text: str) -> list[Import]:
    if text.startswith("use "):
        uses = _split_uses(_without(text, "use", "function", "const"))
        return [Import(path.rstrip("\\ ").replace(" ", ""), names, "use") for path, names in uses]
    file = _PHP_FILE.fullmatch(text)
    return [Import(file[1] or file[2], (), "file")] if file else []


READERS: Mapping[str, Callable[[str], list[Import]]] = MappingProxyType(
    {
        "java": _read_java,
        "kotlin": _read_kotlin,
        "scala": _read_scala,
        "csharp": _read_csharp,
        "php": _read_php,
    }
)
"""From a statement in one line to what it imports, a row a language."""
