"""JSON as hosts write it, with a model's arguments in it: whatever a host may take is read."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read_json(text: str | bytes) -> Any:  # noqa: ANN401 - JSON
    """The value that a text stands for. Numbers of any size are read, bytes that are no text
    replaced.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return json.loads(text.removeprefix("\ufeff"), parse_int=_number)


def _number(digits: str) -> int | float:
    """An integer; one of absurd length as the float that is next, which may be infinite."""
    return int(digits) if len(digits) < 1000 else float(digits)
