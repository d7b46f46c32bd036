"""Dataclasses and named tuples as JSON, and back with every field checked.

What reads a form trusts nobody: its size, depth and shape are bounded before it is built.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from executor import MIB

BYTES_MAX: Final = 16 * MIB
DEPTH_MAX: Final = 32
CONTAINERS_MAX: Final = 200_000
"""Lists and objects of one form: an empty one takes two bytes of text and 60 of memory."""
SCALARS_MAX: Final = 1_000_000
INTEGER_MAX: Final = 2**63 - 1  # what SQLite holds

# An unfinished string counts as one, or each quote in it would be tried as the first.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")

T = TypeVar("T")


class FormError(ValueError):
    """A form that can't be read or written; says where and why."""


def encode(value: object) -> bytes:
    """Write a value as JSON, the same bytes for equal values: keys sorted, ASCII, no blanks.

    Raises:
        FormError: it is larger than `BYTES_MAX`, or has no form.
    """
    try:
        # As it will be read: 5 where a field has fractions is 5.0.
        text = _write(msgspec.convert(_plain(value), type(value)))
    except (TypeError, ValueError) as error:
        raise FormError(f"it can't be written: {error}") from error
    if len(text) > BYTES_MAX:
        raise FormError(f"it is {len(text) / MIB:.1f} MiB, and {BYTES_MAX // MIB} MiB is the most")
    return text


def decode(kind: type[T], data: bytes) -> T:
    """Make an instance of a dataclass or named tuple from what `encode` wrote.

    Raises:
        FormError: it is none, or written in another way: with a field more or less, or a key twice.
    """
    _check_shape(data)
    try:
        value = json.loads(data.decode("ascii"), parse_int=_integer)
        if rb"\ud" in data:
            _check_characters(value)
        made = msgspec.convert(value, kind)
        is_as_written = _write(made) == data
    except (ValueError, RecursionError) as error:
        raise FormError(f"it does not hold: {error}") from error
    if not is_as_written:
        raise FormError("it is not written as a form is: a field is strange, missing or twice")
    return made


def _write(value: object) -> bytes:
    """Write a value; msgspec's own encoder would refuse the half characters in names of files."""
    return json.dumps(
        _plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode()


def _check_shape(data: bytes) -> None:
    """Refuse what would take much time or memory to parse.

    Raises:
        FormError: it is too large, too deep, or of too many parts.
    """
    if len(data) > BYTES_MAX:
        raise FormError(f"it is {len(data):,} bytes, and {BYTES_MAX:,} is the most")
    rest = _STRING.sub(b"", data)
    opened = rest.count(b"[") + rest.count(b"{")
    if opened > CONTAINERS_MAX or rest.count(b",") > SCALARS_MAX:
        raise FormError(f"it has over {CONTAINERS_MAX:,} lists, or {SCALARS_MAX:,} values")
    depth = 0
    for bracket in _BRACKET.finditer(rest):
        depth += 1 if bracket[0] in b"[{" else -1
        if not 0 <= depth <= DEPTH_MAX:
            raise FormError(f"it is nested deeper than {DEPTH_MAX}, or closed before it is opened")


def _check_characters(value: object) -> None:
    """Refuse half characters, but for those that stand for a byte that is not UTF-8.

    Raises:
        UnicodeEncodeError: there is one.
    """
    json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogateescape")


def _integer(text: str) -> int:
    value = int(text)
    if abs(value) > INTEGER_MAX:
        raise ValueError(f"the number {text[:40]} is too large")
    return value


def _plain(value: object) -> object:
    return msgspec.to_builtins(value, enc_hook=_as_builtin)


def _as_builtin(value: object) -> object:
    """Make a mapping that msgspec does not know a dictionary, and a text that bears more a text.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"a {type(value).__name__} has no form")
