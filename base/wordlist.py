"""Sets of words, written as one text so that tables stay readable."""

from __future__ import annotations

import functools
import os


@functools.cache
def words(text: str) -> tuple[str, ...]:
    """The words of a text in a table, in order."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


def read_rows(module: str, name: str) -> list[list[str]]:
    """The rows of a table in the folder of a module's file, each by its cells."""
    with open(os.path.join(os.path.dirname(module), name), encoding="utf-8") as file:
        rows = file.read().replace("\n    ", " ").splitlines()
    return [row.split(" | ") for row in rows if not row.startswith("#")]


def read_fields(module: str, name: str) -> dict[str, dict[str, str]]:
    """The rows of such a table by the names in their first cells, each with its fields."""
    return {
        one: dict(field.split(" ", 1) for field in fields)
        for names, *fields in read_rows(module, name)
        for one in names.split()
    }
