"""The ids of kept outputs, by which a person or an agent asks for one again."""

from __future__ import annotations

import secrets

OUTPUT_PREFIX = "out-"
"""What the id of every kept output begins with."""


def new() -> str:
    """An id that no other output has."""
    return f"{OUTPUT_PREFIX}{secrets.token_hex(4)}"
