"""JSON and TOML with one meaning for every reader, and bounded parsing time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

KEY_PARTS_MAX = 32
# A key of n parts costs the parser n² steps: 30,000 of them are minutes.
_LONG_KEY = re.compile(
    r"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)"""
    f"{{{KEY_PARTS_MAX}}}"
)


def load_toml(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        ValueError: it is not TOML, or has a key of over 32 parts.
        RecursionError: it is nested too deep.
    """
    if found := _LONG_KEY.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"a key has over {KEY_PARTS_MAX} parts (at line {line}, column 1)")
    import tomllib  # noqa: PLC0415 - a hook usually reads only JSON

    return tomllib.loads(text)


Pairs = list[tuple[str, Any]]


def strict_json(
    text: str | bytes, read_object: Callable[[Pairs], dict[str, Any]] | None = None
) -> Any:  # noqa: ANN401 - JSON is anything
    """Parse JSON.

    Raises:
        ValueError: it is not JSON, a number is NaN, or a key is repeated in an object that no
            `read_object` reads.
        RecursionError: it is nested too deep.
    """
    hook = read_object or _object
    return json.loads(text, object_pairs_hook=hook, parse_constant=_refuse_constant)


def _object(pairs: Pairs) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:80]!r} is repeated in an object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
