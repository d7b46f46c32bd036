"""Sets of words, written as one text so that tables stay readable."""

from __future__ import annotations

import functools
import os


@functools.cache
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in a table, in order."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def read_rows(module: str, name: str) -> list[list[str]]:
    """Return the rows of a table in the folder of a module's file, each as its cells."""
    with open(os.path.join(os.path.dirname(module), name), encoding="utf-8") as file:
        rows = file.read().replace("\n    ", " ").splitlines()
    return [row.split(" | ") for row in rows if not row.startswith("#")]
