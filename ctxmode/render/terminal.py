"""The console on which people are shown tables."""

from __future__ import annotations

import os
import sys

from rich.console import Console, ConsoleRenderable, Group, RenderHook
from rich.table import Table
from rich.text import Text

PIPED_COLUMNS = 200
NARROW_COLUMNS = 60
"""Below this a table's columns would hold a few letters each."""


def console() -> Console:
    """Standard output. Colours only on a terminal, or where FORCE_COLOR is set, and never where
    NO_COLOR is: rich's own rule.

    A terminal's width is kept; into a pipe or a file lines are long, so that a path or a reason
    stays on one.
    """
    fits = sys.stdout.isatty() or "COLUMNS" in os.environ
    out = _Console(file=sys.stdout, highlight=False, width=None if fits else PIPED_COLUMNS)
    if out.width < NARROW_COLUMNS:
        out.push_render_hook(_TablesAsRecords())
    return out


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # The command's own boundary knows what to do, where rich would exit with 1.
        raise BrokenPipeError


class _TablesAsRecords(RenderHook):
    """Shows each row of a table as lines `column: value`, where columns find no room."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_records(it) if isinstance(it, Table) else it for it in renderables]


def _records(table: Table) -> ConsoleRenderable:
    lines = [Text.from_markup(str(table.title))] if table.title else []
    for row in zip(*(column.cells for column in table.columns), strict=True):
        for column, cell in zip(table.columns, row, strict=True):
            value = cell if isinstance(cell, Text) else Text(str(cell))
            if value.plain:
                title = f"{column.header}: " if column.header else ""
                lines.append(Text.assemble(title, value))
        lines.append(Text())
    return Group(*lines)
