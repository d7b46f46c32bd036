"""Sets of words, written as one text so that tables stay readable."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any


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


def read_fields(module: str, name: str, make: Callable[[dict[str, str]], Any]) -> dict[str, Any]:
    """Build a value from each row's fields, by the names in its first cell."""
    table: dict[str, Any] = {}
    for names, *fields in read_rows(module, name):
        table |= dict.fromkeys(names.split(), make(dict(field.split(" ", 1) for field in fields)))
    return table
