"""Console for tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import (
    Console,
    ConsoleRenderable,
    Group,
    JustifyMethod,
    OverflowMethod,
    RenderHook,
)
from rich.table import Table
from rich.text import Text

from ctxmode.render.highlight import one_line

PIPED_COLUMNS = 200
NARROW_COLUMNS = 60
"""Below this width, a table's columns would hold only a few letters each."""


def console() -> Console:
    """Open standard output. Rich uses colours on a terminal or with FORCE_COLOR, never with
    NO_COLOR. In a pipe or a file, lines are long so that no path is wrapped."""
    fits = sys.stdout.isatty() or "COLUMNS" in os.environ
    out = _Console(file=sys.stdout, highlight=False, width=None if fits else PIPED_COLUMNS)
    if out.width < NARROW_COLUMNS:
        out.push_render_hook(_TablesAsRecords())
    return out


def build_table(
    *columns: str, fixed: Sequence[str] = (), right: Sequence[str] = (), title: str = ""
) -> Table:
    """Build a table without lines; cells wrap, except in `fixed` columns."""
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        is_fixed = column in fixed
        justify: JustifyMethod = "right" if column in right else "left"
        overflow: OverflowMethod = "ellipsis" if is_fixed else "fold"
        table.add_column(column, justify=justify, overflow=overflow, no_wrap=is_fixed)
    return table


def show_table(
    columns: Mapping[str, Callable[[Any], object]],
    rows: Iterable[Any],
    *,
    fixed: Sequence[str] = (),
    right: Sequence[str] = (),
) -> None:
    """Print rows as a table. `columns` maps each title to a function that reads a row's cell. Cells
    are untrusted text, shown on one line."""
    table = build_table(*columns, fixed=fixed, right=right)
    for row in rows:
        table.add_row(*(Text(one_line(str(read(row)))) for read in columns.values()))
    console().print(table)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # `ctxmode.cli` handles it; rich would exit with 1.
        raise BrokenPipeError


class _TablesAsRecords(RenderHook):
    """Hook that shows each row of a table as lines `column: value`, for narrow terminals."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_list_records(it) if isinstance(it, Table) else it for it in renderables]


def _list_records(table: Table) -> ConsoleRenderable:
    lines = [Text.from_markup(str(table.title))] if table.title else []
    for row in zip(*(column.cells for column in table.columns), strict=True):
        for column, cell in zip(table.columns, row, strict=True):
            value = cell if isinstance(cell, Text) else Text(str(cell))
            if value.plain:
                title = f"{column.header}: " if column.header else ""
                lines.append(Text.assemble(title, value))
        lines.append(Text())
    return Group(*lines)
