"""JSON that means one thing to everybody who reads it."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def strict_json(text: str | bytes) -> Any:  # noqa: ANN401 - JSON is anything
    """The value of a text.

    Raises:
        ValueError: it is no JSON, a key stands twice in an object, or a number is none (NaN).
        RecursionError: it is nested too deep.
    """
    return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:80]!r} stands twice in an object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
