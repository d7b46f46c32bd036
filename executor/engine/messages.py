"""Reads what comes back from a supervisor or agent: programs may have taken it over."""

from __future__ import annotations

import functools
import json
import types
from collections.abc import Mapping
from typing import (
    Any,
    NotRequired,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from executor.errors import SandboxError

D = TypeVar("D", bound=Mapping[str, object])


def read(data: bytes, shape: type[D]) -> D:
    """The JSON of one message, as the shape says it.

    Raises:
        SandboxError: it is none, or has a field that the shape lacks or that is of another type.
    """
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SandboxError("a supervisor said what is no message; its box is ended") from error
    return check(said, shape)


def check(said: object, shape: type[D]) -> D:
    """The same for a message whose JSON was read.

    Raises:
        SandboxError: it has a field that the shape lacks or that is of another type.
    """
    if (wrong := _wrong(said, shape, "")) is not None:
        raise SandboxError(f"a supervisor's message is malformed at {wrong or 'its top'!r}")
    return cast("D", said)


@functools.cache
def _fields(shape: type) -> Mapping[str, Any]:
    return get_type_hints(shape, include_extras=True)


def _wrong(value: object, hint: Any, place: str) -> str | None:  # noqa: ANN401 - a type of any kind
    """Where a value is not of a type; None if it is."""
    origin, args = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        return _wrong_fields(value, hint, place)
    if origin in (Union, types.UnionType):
        return None if any(_wrong(value, one, place) is None for one in args) else place
    if origin is list:
        items = value if isinstance(value, list) else None
        return _first(items, [args[0]] * len(items or ()), place)
    if origin is tuple:  # JSON has lists in their place
        items = value if isinstance(value, list) and len(value) == len(args) else None
        return _first(items, args, place)
    if origin is dict:
        values = list(value.values()) if isinstance(value, dict) else None
        return _first(values, [args[1]] * len(values or ()), place)
    if hint is float:
        hint = (int, float)
    is_right = isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
    return None if is_right else place


def _wrong_fields(value: object, shape: Any, place: str) -> str | None:  # noqa: ANN401
    if not isinstance(value, dict):
        return place
    fields = _fields(shape)
    # Python 3.11 does not see through annotations that are text: NotRequired is looked for here.
    required = (n for n in shape.__required_keys__ if get_origin(fields[n]) is not NotRequired)
    if missing := next((name for name in required if name not in value), None):
        return f"{place}.{missing}".lstrip(".")
    for name, field in value.items():
        where = f"{place}.{name}".lstrip(".")
        if name not in fields:
            return where
        hint = fields[name]
        hint = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
        if (wrong := _wrong(field, hint, where)) is not None:
            return wrong
    return None


def _first(items: list[object] | None, hints: Any, place: str) -> str | None:  # noqa: ANN401
    if items is None:
        return place
    found = (_wrong(item, hint, place) for item, hint in zip(items, hints, strict=True))
    return next((wrong for wrong in found if wrong is not None), None)
