"""Edits of TOML text: set or remove our table and keep all else unchanged.

TOML tables may have any order, so a new one goes to the end. The text ends with a new line only if
it did before. Each result is parsed again and must differ only in that table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from base.strict_data import load_toml
from ctxmode.hosts.setup.json_edits import find_value

Value = str | bool | int | Sequence[str]
_HEADER = re.compile(r"[ \t]*\[{1,2}[^\[\]\n]+\]{1,2}[ \t]*(?:#[^\n]*)?\r?")


def put_table(text: str, path: Sequence[str], table: Mapping[str, Value]) -> str:
    """Set strings, booleans, whole numbers and lists of strings in a table; keep its other values.
    Raise ValueError if the text is not TOML, or the table has an unsupported form."""
    found = find_value(load_toml(text), path)
    if found is None:
        made = _add_table(text, path, table)
    elif not isinstance(found, Mapping):
        raise ValueError(f"{'.'.join(path)} is not a table")
    else:
        changed = {name: value for name, value in _plain(table).items() if found.get(name) != value}
        if not changed:
            return text
        made = _set_values(text, path, changed)
    _verify(text, made, path, {**(found or {}), **_plain(table)})
    return made


def _add_table(text: str, path: Sequence[str], table: Mapping[str, Value]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(map(_key, path))}]"]
    lines += [_assign(name, value) for name, value in table.items()]
    gap = newline if text.strip() else ""
    is_ended = text.endswith("\n")
    end, last = ("", newline) if is_ended else (newline if text else "", "")
    return text + end + gap + newline.join(lines) + last


def _set_values(text: str, path: Sequence[str], values: Mapping[str, Value]) -> str:
    """Replace lines of a table, and add missing lines after its header."""
    newline = "\r\n" if "\r\n" in text else "\n"
    made: list[str] = []
    missing = dict(values)
    lines = iter(text.splitlines(keepends=True))
    is_inside = False
    header = -1
    for line in lines:
        if _HEADER.fullmatch(line.rstrip("\n")):
            is_inside = _names(line) == list(path)
            header = len(made) + 1 if is_inside else header
        name = line.partition("=")[0].strip().strip("\"'") if is_inside else ""
        if name not in missing:
            made.append(line)
            continue
        written = line
        while not _is_whole(written) and (more := next(lines, "")):
            written += more
        end = written[len(written.rstrip("\r\n")) :]
        made.append(_assign(name, missing.pop(name)) + end)
    if header >= 0:
        made[header:header] = [_assign(*item) + newline for item in missing.items()]
    return "".join(made)


def _is_whole(text: str) -> bool:
    try:
        load_toml(text)
    except ValueError:
        return False
    return True


def _assign(name: str, value: Value) -> str:
    return f"{_key(name)} = {json.dumps(value)}"


def drop_table(text: str, path: Sequence[str]) -> str:
    """Remove a table and its subtables from a text. Raise ValueError if the text is not TOML, or
    the table has an unsupported form."""
    if find_value(load_toml(text), path) is None:
        return text
    kept: list[str] = []
    ours: list[str] = []
    for line in text.splitlines(keepends=True):
        if _HEADER.fullmatch(line.rstrip("\n")):
            # Comments above a header belong to its table.
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
    """Join the kept lines. If the last table was removed, also remove the blank line before it, and
    the line end before that if the text ended without one."""
    is_last = bool(ours)
    if is_last and kept and not kept[-1].strip() and "".join(kept).strip():
        kept = kept[:-1]
    text = "".join(kept)
    if is_last and not ours[-1].endswith("\n"):
        return text.removesuffix("\n").removesuffix("\r")
    return text


def _above(lines: list[str]) -> list[str]:
    """Return the comments at the end of some lines, with the blank lines between and before."""
    count = 0
    while count < len(lines) and (not (line := lines[-1 - count].strip()) or line.startswith("#")):
        count += 1
    return lines[len(lines) - count :]


def _verify(before: str, after: str, path: Sequence[str], table: object) -> None:
    try:
        was, now = load_toml(before), load_toml(after)
    except ValueError:
        now, was = {}, {"": None}
    if find_value(now, path) != table or _without(was, path) != _without(now, path):
        raise ValueError(f"[{'.'.join(path)}] has a form that cannot be edited")


def _without(document: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    """Remove the value at a path from a document, and then tables on the way that become empty."""
    key, *rest = path
    if not rest or not isinstance(document.get(key), Mapping):
        return {name: value for name, value in document.items() if name != key}
    inner = _without(document[key], rest)
    return {n: inner if n == key else v for n, v in document.items() if n != key or inner}


def _names(header: str) -> list[str]:
    """Return the keys of a table's header."""
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
