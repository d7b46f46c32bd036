"""Dataclasses and named tuples as JSON, and back with every field checked.

What reads a form trusts nobody: its size, depth and shape are bounded before it is built.
"""

from __future__ import annotations

import base64
import functools
import json
import math
import re
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import (
    Any,
    Literal,
    NoReturn,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from executor.model import MIB
from policy.strict_json import strict_json

BYTES_MAX = 16 * MIB
DEPTH_MAX = 32
CONTAINERS_MAX = 200_000
"""Lists and objects of one form: an empty one takes two bytes of text and 60 of memory."""
SCALARS_MAX = 1_000_000
INTEGER_MAX = 2**63 - 1  # what SQLite holds

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
        text = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise FormError(f"it can't be written: {error}") from error
    if len(text) > BYTES_MAX:
        raise FormError(f"it is {len(text) / MIB:.1f} MiB, and {BYTES_MAX // MIB} MiB is the most")
    return text.encode()


def parse(data: bytes) -> dict[str, Any]:
    """Read a JSON object of bounded size and depth.

    Raises:
        FormError: it is none.
    """
    _check_shape(data)
    try:
        value = strict_json(data.decode())
    except (ValueError, RecursionError) as error:
        raise FormError(f"no JSON: {error}") from error
    if not isinstance(value, dict):
        raise FormError("it is no object")
    return value


def read(kind: type[T], value: object, where: str = "") -> T:
    """Make an instance of a dataclass or named tuple from what `parse` gave.

    A field that has a default may be missing; one that the class lacks is refused.

    Raises:
        FormError: a field is missing, unknown, or of another type.
    """
    if not isinstance(value, dict):
        raise FormError(f"{where or 'it'} is no object")
    hints, needed = _fields(cast("Any", kind))
    if strange := value.keys() - hints.keys():
        raise FormError(f"{_below(where, min(strange))[:200]} is no field")
    if missing := needed - value.keys():
        raise FormError(f"{_below(where, min(missing))} is missing")
    given = {name: _read(hints[name], one, _below(where, name)) for name, one in value.items()}
    try:
        return kind(**given)
    except FormError:
        raise
    except (TypeError, ValueError) as error:
        raise FormError(f"{where or 'it'} does not hold: {error}") from error


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


def _plain(value: Any) -> Any:  # noqa: ANN401 - any form
    """What `json` can write."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list) or type(value) is tuple:
        return [_plain(one) for one in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return {name: _plain(one) for name, one in _items(value)}


def _items(value: Any) -> Iterable[tuple[str, Any]]:  # noqa: ANN401 - any form
    """The fields of a dataclass or named tuple, or the items of a mapping."""
    if isinstance(value, Mapping):
        return value.items()
    if is_dataclass(value):
        return ((one.name, getattr(value, one.name)) for one in fields(value))
    if isinstance(value, tuple):
        return zip(cast("Any", value)._fields, value, strict=True)
    raise TypeError(f"a {type(value).__name__} has no form")


@functools.cache
def _fields(kind: type) -> tuple[dict[str, Any], frozenset[str]]:
    """The types of a class's fields, and the names of those without a default."""
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        plain = [f for f in fields(kind) if f.default is f.default_factory is MISSING]
        return {f.name: hints[f.name] for f in fields(kind)}, frozenset(f.name for f in plain)
    names: tuple[str, ...] = cast("Any", kind)._fields
    defaults: dict[str, Any] = cast("Any", kind)._field_defaults
    return {name: hints[name] for name in names}, frozenset(names) - defaults.keys()


def _read(kind: Any, value: Any, where: str) -> Any:  # noqa: ANN401 - any type and value
    """A value of a type.

    Raises:
        FormError: it is of another.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if value is None and types.NoneType in parts:
            return None
        (kind,) = (part for part in parts if part is not types.NoneType)
        return _read(kind, value, where)
    if origin is tuple:
        return tuple(
            _read(parts[0], one, f"{where}[{n}]") for n, one in enumerate(_list(value, where))
        )
    if isinstance(origin, type) and issubclass(origin, Mapping):
        given = value if isinstance(value, dict) else _refuse(f"{where} is no object")
        return {
            _check_text(name, where): _read(parts[1], one, _below(where, name))
            for name, one in given.items()
        }
    if origin is Literal:
        known = isinstance(value, str) and value in parts
        return value if known else _refuse(f"{where} is none of {', '.join(parts)}")
    return _check_any(value, where) if kind is Any else _read_simple(kind, value, where)


def _list(value: object, where: str) -> list[Any]:
    return value if isinstance(value, list) else _refuse(f"{where} is no list")


def _refuse(why: str) -> NoReturn:
    raise FormError(why)


def _read_simple(kind: type, value: Any, where: str) -> Any:  # noqa: ANN401 - any value
    """A text, a number, a truth, bytes, a member of an enumeration, or a form in this one."""
    if kind is str:
        return _check_text(value, where)
    if kind is bool or kind is int or kind is float:
        return _check_number(kind, value, where)
    if kind is bytes:
        try:
            return base64.b64decode(_check_text(value, where), validate=True)
        except ValueError as error:
            raise FormError(f"{where} is no base64") from error
    if issubclass(kind, Enum):
        for member in kind:
            if type(value) in (str, int) and member.value == value:
                return member
        raise FormError(f"{where} is none of {', '.join(str(one.value) for one in kind)}")
    return read(kind, value, where)


def _check_text(value: object, where: str) -> str:
    """A text that can become bytes, also such as stand for a name that is no UTF-8."""
    if not isinstance(value, str):
        raise FormError(f"{where} is no text")
    if not value.isascii():
        try:
            value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise FormError(f"{where} holds half a character") from error
    return value


def _check_number(kind: type, value: Any, where: str) -> Any:  # noqa: ANN401 - any value
    is_truth = isinstance(value, bool)
    if kind is bool and is_truth:
        return value
    if isinstance(value, int) and not is_truth and kind is not bool and abs(value) <= INTEGER_MAX:
        return value
    if kind is float and isinstance(value, float) and math.isfinite(value):
        return value
    raise FormError(f"{where} is no {kind.__name__}")


def _check_any(value: Any, where: str) -> Any:  # noqa: ANN401 - any value
    """A JSON value of any shape; its depth is bounded already."""
    if isinstance(value, dict):
        return {
            _check_text(name, where): _check_any(one, _below(where, name))
            for name, one in value.items()
        }
    if isinstance(value, list):
        return [_check_any(one, where) for one in value]
    if isinstance(value, str):
        return _check_text(value, where)
    if value is None or isinstance(value, bool):
        return value
    return _check_number(float, value, where)


def _below(where: str, name: str) -> str:
    return f"{where}.{name[:80]}" if where else name[:80]
