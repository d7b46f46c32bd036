"""The verb `policy refusals`: list what the sandbox blocked, and how to allow it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from functools import partial
from typing import Annotated

from base.stores import SchemaError, connect_read_only
from base.wording import inflect
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, unknown_id
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from ctxmode.operations.usage import (
    STEPS,
    KeptRefusals,
    count_refused,
    is_known,
    list_refused,
    to_json,
)
from ctxmode.render.highlight import age, one_line
from ctxmode.render.results import describe

TARGETS_SHOWN = 3
WAIT_S = 5.0


def list_refusals(
    asker: Asker,
    run: Annotated[str, Arg("all refusals of one run", "RUN")] = "",
    *,
    limit: Annotated[int, Arg("the latest N runs (default: 20)", "N")] = 20,
) -> Answer:
    """List what the sandbox blocked, and how to allow it."""
    runs, total, known = _read(asker.config, run, max(limit, 0))
    if run and not known:
        raise unknown_id("run", run, is_empty=False)
    data = {"runs": [to_json(one) for one in runs], "total": len(runs) if run else total}
    if run:
        text = "\n".join(map(_describe, runs)) or f"The sandbox blocked nothing in run {run}."
        return Answer(data, text)
    if not runs:
        return Answer(data, "Nothing was refused to the runs that are listed.")
    return Answer(data, show=partial(_show, runs))


OPERATIONS: dict[str, Operation] = {"refusals": list_refusals}


def _read(config: Config, run: str, limit: int) -> tuple[list[KeptRefusals], int, bool]:
    """Return the requested runs, the number of all runs, and whether the run is listed. For an
    unknown run, return the latest."""
    path = config.usage_file
    if not path.exists():
        return [], 0, False
    try:
        with closing(connect_read_only(path, steps=STEPS, wait_s=WAIT_S)) as db:
            known = not run or is_known(db, run)
            found = list_refused(db, run=run if known else "", limit=limit)
            return found, count_refused(db), known
    except (sqlite3.Error, SchemaError) as error:
        raise ContextModeError(f"cannot read {path}: {error}") from error


def _describe(one: KeptRefusals) -> str:
    number, row, refusals = one
    when = age(time.time() - row["at"])
    status = row["status"].replace("_", " ")
    head = f"run {number}, {when} ago: {row['language']}, profile {row['profile']}, {status}"
    return "\n".join((head, *(one_line(describe(refusal)) for refusal in refusals)))


def _show(runs: list[KeptRefusals]) -> None:
    from rich.text import Text  # noqa: PLC0415 - for people only

    from ctxmode.render import terminal  # noqa: PLC0415

    right = ("run", "ended")
    table = terminal.build_table(
        *right, "language", "status", "refused", fixed=(*right, "language", "status"), right=right
    )
    for number, row, refusals in runs:
        named = [f"{refusal.kind} {refusal.target}" for refusal in refusals[:TARGETS_SHOWN]]
        more = len(refusals) - len(named)
        targets = ", ".join(named) + (f" and {inflect(more, 'other')}" if more else "")
        table.add_row(
            str(number),
            age(time.time() - row["at"]),
            row["language"],
            row["status"].replace("_", " "),
            Text(one_line(targets)),
        )
    terminal.console().print(table)
