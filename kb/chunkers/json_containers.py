"""JSON containers that fit in a chunk, read in one go: where one ends, and what names it."""

from __future__ import annotations

import re

IDENTITY = (b"name", b"title", b"label", b"path", b"key", b"slug", b"id")
"""Fields whose value names the record they stand in, the most telling first."""

IDENTITY_BYTES = 200
"""A longer item names nothing."""

_LEVELS = 6
"""What is nested deeper is left to a reader with a stack."""

_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_NESTED = rb"(?!)"
for _ in range(_LEVELS):
    _NESTED = rb'[\[{](?>(?:[^"\[\]{}]++|' + _STRING + rb"|" + _NESTED + rb")*)[\]}]"
_CONTAINER = re.compile(_NESTED, re.DOTALL)

_IDENTIFYING = (
    rb'[^",\[\]{}]*+"(?:' + b"|".join(IDENTITY) + rb')"'
    rb'(?>(?:[^",\[\]{}]++|' + _STRING + rb")*)(?=[,\]}])"
)
_NEXT_IDENTIFYING = re.compile(
    rb"(?>(?:(?!" + _IDENTIFYING + rb")"
    rb'(?>(?:[^",\[\]{}]++|' + _STRING + rb"|" + _NESTED + rb")*),)*)"
    rb"(" + _IDENTIFYING + rb")",
    re.DOTALL,
)
"""Items of an object as far as one that may name it, from the beginning of an item."""


def end(data: bytes, at: int, limit: int) -> int | None:
    """Where the container ends that begins at `at`; None where it is longer than `limit` bytes,
    nested deeply, or broken."""
    found = _CONTAINER.match(data, at, at + limit)
    return None if found is None else found.end()


def identity(container: bytes) -> bytes:
    """What names a container, of which this is the text; empty where nothing does."""
    if container.startswith(b"["):
        return b""
    rank, best, position = len(IDENTITY), b"", 1
    while rank and (found := _NEXT_IDENTIFYING.match(container, position)):
        position, item = found.end(), found[1]
        of_key = IDENTITY.index(item.split(b'"', 2)[1])
        if of_key < rank and len(item) < IDENTITY_BYTES:
            rank, best = of_key, value(item)
    return best


def value(item: bytes) -> bytes:
    """What stands behind the key, without quotes."""
    return item.partition(b":")[2].strip().strip(b'"')
