"""Reading of untrusted JSON fields and folders: values of a wrong type count as missing."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

_COUNT_MAX = 1 << 53
_SECONDS_MAX = 253402300800.0  # the year 10000
_MILLISECONDS = 1e11  # a larger number of seconds is thousands of years ahead
_PARAMS_CHARS_MAX = 1 << 20
_NONE: Mapping[str, Any] = {}
_SPACE = re.compile(r"\s+")


def text(value: object) -> str:
    """Return a string, or an empty one."""
    return value if isinstance(value, str) else ""


def first_text(of: Mapping[str, Any], *names: str) -> str:
    """Return the first of some fields that is a non-empty string."""
    return next((found for name in names if (found := text(of.get(name)))), "")


def fields(value: object) -> Mapping[str, Any]:
    """Return an object, or an empty one."""
    return value if isinstance(value, Mapping) else _NONE


def listed(value: object) -> list[Any]:
    """Return a list, or an empty one."""
    return value if isinstance(value, list) else []


def objects(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list."""
    return (one for one in listed(value) if isinstance(one, Mapping))


def count(value: object) -> int | None:
    """Return a non-negative number, or None."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if isinstance(value, int) and is_number and 0 <= value < _COUNT_MAX else None


def less(whole: int | None, *parts: int | None) -> int | None:
    """Return a count without some of its parts, if they are within it."""
    taken = sum(part or 0 for part in parts)
    return whole - taken if whole is not None and whole >= taken else whole


def code(value: object) -> int | None:
    """Return an exit code, or None. Some hosts write it as a float."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if isinstance(value, int) and is_number and abs(value) < 1 << 32 else None


def seconds(value: object) -> float | None:
    """Return a time as seconds since the epoch: of an ISO text, seconds or milliseconds."""
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value)
            zoned = at if at.tzinfo else at.replace(tzinfo=UTC)
            return _in_range(zoned.timestamp())
        except (ValueError, OverflowError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return _in_range(number / 1000 if abs(number) >= _MILLISECONDS else number)


def _in_range(number: float) -> float | None:
    return number if math.isfinite(number) and 0 < number < _SECONDS_MAX else None


def params(value: object) -> object:
    """Return a tool's arguments: hosts write them as an object, or as its JSON."""
    if not isinstance(value, str):
        return value
    if len(value) <= _PARAMS_CHARS_MAX and value.lstrip()[:1] == "{":
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return read if isinstance(read, dict) else value
    return value


def parts_text(content: object) -> str:
    """Return the texts of a message's content: a string, or parts that have a `text`."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return text(content.get("text"))
    parts = (
        one if isinstance(one, str) else text(fields(one).get("text")) for one in listed(content)
    )
    return "\n".join(part for part in parts if part)


def size(value: str) -> int:
    """Return the bytes of a text; a lone surrogate counts, too."""
    return len(value.encode("utf-8", "surrogatepass"))


def one_line(value: str, chars: int = 200) -> str:
    """Return the beginning of a text as a title of one line."""
    return _SPACE.sub(" ", value[: chars * 4]).strip()[:chars]


def scan(folder: str) -> list[os.DirEntry[str]]:
    """Return a folder's entries by name; empty if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (OSError, ValueError):
        return []


def subfolders(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield the folders in a folder, without links."""
    return (entry for entry in scan(folder) if is_folder(entry))


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder, and not a link."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def is_file(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a file, and not a link."""
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False
