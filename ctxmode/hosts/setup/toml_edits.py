"""Edits of TOML text: one table of ours, set or taken out; all else stays as it is.

Tables of TOML may stand in any order, so ours goes to the end, and the text ends with a new line
as it did before. What the edit makes is read back, and must differ in that table alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from policy.toml_text import load_toml

Value = str | bool | int | Sequence[str]
_HEADER = re.compile(r"[ \t]*\[{1,2}[^\[\]\n]+\]{1,2}[ \t]*(?:#[^\n]*)?\r?")


def put_table(text: str, path: Sequence[str], table: Mapping[str, Value]) -> str:
    """The text with a table of strings, truth values, whole numbers and lists of strings.

    Raises:
        ValueError: the text is no TOML, or the table is written in a way that is not understood.
    """
    if _at(load_toml(text), path) == _plain(table):
        return text
    bare = drop_table(text, path)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(map(_key, path))}]"]
    lines += [f"{_key(name)} = {json.dumps(value)}" for name, value in table.items()]
    gap = newline if bare.strip() else ""
    is_ended = bare.endswith("\n")
    end, last = ("", newline) if is_ended else (newline if bare else "", "")
    made = bare + end + gap + newline.join(lines) + last
    _verify(text, made, path, _plain(table))
    return made


def drop_table(text: str, path: Sequence[str]) -> str:
    """The text without a table and the tables below it.

    Raises:
        ValueError: the text is no TOML, or the table is written in a way that is not understood.
    """
    if _at(load_toml(text), path) is None:
        return text
    kept: list[str] = []
    ours: list[str] = []
    for line in text.splitlines(keepends=True):
        if _HEADER.fullmatch(line.rstrip("\n")):
            # What stands above a header is about that header's table.
            kept += _above(ours)
            ours = [line] if _names(line)[: len(path)] == list(path) else []
            if not ours:
                kept.append(line)
        elif ours:
            ours.append(line)
        else:
            kept.append(line)
    made = _without_gap(kept, ours) + "".join(_above(ours))
    _verify(text, made, path, None)
    return made


def _without_gap(kept: list[str], ours: list[str]) -> str:
    """What is kept where a table was taken from the end: the blank line that parted it goes, and
    the line's end before it if the text ended without one."""
    is_last = bool(ours)
    if is_last and kept and not kept[-1].strip() and "".join(kept).strip():
        kept = kept[:-1]
    text = "".join(kept)
    if is_last and not ours[-1].endswith("\n"):
        return text.removesuffix("\n").removesuffix("\r")
    return text


def _above(lines: list[str]) -> list[str]:
    """The comments at the end of some lines, with the space between and before them."""
    count = 0
    while count < len(lines) and (not (line := lines[-1 - count].strip()) or line.startswith("#")):
        count += 1
    return lines[len(lines) - count :]


def _verify(before: str, after: str, path: Sequence[str], table: object) -> None:
    try:
        was, now = load_toml(before), load_toml(after)
    except ValueError:
        now, was = {}, {"": None}
    if _at(now, path) != table or _without(was, path) != _without(now, path):
        raise ValueError(f"[{'.'.join(path)}] is written in a way that cannot be edited here")


def _at(document: Mapping[str, Any], path: Sequence[str]) -> Any:  # noqa: ANN401 - a value of TOML
    found: Any = document
    for key in path:
        if not isinstance(found, Mapping) or key not in found:
            return None
        found = found[key]
    return found


def _without(document: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    """The document without what is at a path, nor tables on the way that are empty then."""
    key, *rest = path
    if not rest or not isinstance(document.get(key), Mapping):
        return {name: value for name, value in document.items() if name != key}
    inner = _without(document[key], rest)
    return {n: inner if n == key else v for n, v in document.items() if n != key or inner}


def _names(header: str) -> list[str]:
    """The keys of a table's header."""
    name = header.strip().partition("#")[0].strip().strip("[]") if '"' not in header else header
    try:
        document: Any = load_toml(f"[{name.strip().strip('[]')}]")
    except ValueError:
        return []
    names = []
    while isinstance(document, Mapping) and document:
        key = next(iter(document))
        names.append(key)
        document = document[key]
    return names


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _plain(table: Mapping[str, Value]) -> dict[str, Any]:
    return {k: v if isinstance(v, str | int) else list(v) for k, v in table.items()}
