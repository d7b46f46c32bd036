"""TOML that whoever wrote it cannot make us read for long."""

from __future__ import annotations

import re
import tomllib
from typing import Any

KEY_PARTS_MAX = 32
# A key of n parts costs the parser n² steps: 30,000 of them are minutes.
_LONG_KEY = re.compile(
    r"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)"""
    f"{{{KEY_PARTS_MAX}}}"
)


def load_toml(text: str) -> dict[str, Any]:
    """The data of a text.

    Raises:
        ValueError: it is no TOML, or has a key of over 32 parts.
        RecursionError: it is nested too deep.
    """
    if found := _LONG_KEY.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"a key has over {KEY_PARTS_MAX} parts (at line {line}, column 1)")
    return tomllib.loads(text)
