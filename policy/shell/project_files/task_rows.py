"""Runners whose tasks stand under their names in a data file, as rows."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple


class TaskFile(NamedTuple):
    """Where a runner's tasks stand, and how its command line names them.

    A `place` is a path of keys, or `*` and what has to be worked out. `verbs` come before a name,
    `-` says that none may. `takes` is what names tasks: the first operand, behind which all is
    passed on (`one`), or the tool's options stand too (`loose`); every operand, with options
    between them (`all`) or not (`each`); no operand (`none`). `option` names them as well.
    `default` is the task where none is named: `*` all, `first` the first. `values` are the options
    with a value. `before` is put before each line; `stages` are the tasks around one. `instead`
    are the tasks that a word stands for without a verb. `scripts` are folders of tasks.
    """

    files: str
    places: str
    verbs: str = ""
    takes: str = "one"
    default: str = ""
    values: str = "C cwd d dir directory working-dir project f file config"
    option: str = ""
    before: str = ""
    stages: str = "{}"
    instead: dict[str, str] = {}  # noqa: RUF012 - read, never written
    scripts: str = ""


def _row(fields: dict[str, Any]) -> TaskFile:
    """The row of a table's fields; the words of `instead` that mean the same stand in one text."""
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
"""Each runner's row, and runners that take the row of another."""
