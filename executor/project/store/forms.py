"""Dataclasses and named tuples as JSON, and back: what waits for a person or a later start."""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec

T = TypeVar("T")


def encode(value: object) -> str:
    """Write a value as one line of ASCII; names of files that are not UTF-8 stay as they are.

    msgspec's own encoder refuses the half characters that stand for their bytes.
    """
    return json.dumps(msgspec.to_builtins(value, enc_hook=str))


def decode(kind: type[T], text: str) -> T:
    """Read what `encode` wrote.

    Raises:
        ValueError: it is something else.
    """
    return msgspec.convert(json.loads(text), kind, dec_hook=lambda inner, value: inner(value))
