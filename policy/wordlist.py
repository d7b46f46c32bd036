"""Sets of words, written as one text so that tables stay readable."""

from __future__ import annotations

import functools


@functools.cache
def words(text: str) -> tuple[str, ...]:
    """The words of a text in a table, in order."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())
