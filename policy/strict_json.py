"""JSON that means one thing to everybody who reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

Pairs = list[tuple[str, Any]]


def strict_json(
    text: str | bytes, read_object: Callable[[Pairs], dict[str, Any]] | None = None
) -> Any:  # noqa: ANN401 - JSON is anything
    """The value of a text.

    Raises:
        ValueError: it is not JSON, a number is NaN, or a key stands twice in an object that
            nobody else reads.
        RecursionError: it is nested too deep.
    """
    hook = read_object or _object
    return json.loads(text, object_pairs_hook=hook, parse_constant=_refuse_constant)


def _object(pairs: Pairs) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:80]!r} stands twice in an object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
