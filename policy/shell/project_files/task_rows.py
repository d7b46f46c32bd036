"""Runners with tasks under their names in a data file, as rows."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple


class TaskFile(NamedTuple):
    """A runner's row: the place of its tasks, and their names on its command line.

    `takes` is what names tasks: the first operand, after which all is passed on (`one`), or the
    tool's options may follow too (`loose`); every operand, with options between them (`all`) or not
    (`each`); no operand (`none`).

    Attributes:
        instead: the tasks that a word stands for without a verb.
    """

    files: str
    places: str  # each is a path of keys, or `*` and text to compute
    verbs: str = ""  # before a task's name; `-` means that none may be
    takes: str = "one"
    default: str = ""  # the task if none is named: `*` all, `first` the first
    values: str = "C cwd d dir directory working-dir project f file config"  # options with a value
    option: str = ""  # names tasks as well
    before: str = ""  # put before each line
    stages: str = "{}"  # the tasks around one, which is `{}`
    instead: dict[str, str] = {}  # noqa: RUF012 - read, never written
    scripts: str = ""  # folders of tasks


def _row(fields: dict[str, Any]) -> TaskFile:
    """Build the row of a table's fields; words of `instead` with one meaning share a text."""
    instead = fields.pop("instead", {}).items()
    return TaskFile(**fields, instead={word: to for keys, to in instead for word in keys.split()})


def _load_rows() -> tuple[dict[str, TaskFile], dict[str, str]]:
    with open(f"{os.path.splitext(__file__)[0]}.json", encoding="utf-8") as file:
        tables = json.load(file)
    rows = ((names, _row(fields)) for names, fields in tables["rows"].items())
    return (
        {name: row for names, row in rows for name in names.split()},
        {name: as_one for as_one, names in tables["same"].items() for name in names.split()},
    )


ROWS, SAME = _load_rows()
"""Each runner's row, and runners that use the row of another."""
