"""Tokens that hosts report, in a table for people."""

from __future__ import annotations

from decimal import Decimal

from rich.text import Text

from ctxmode.operations.figures import KINDS, TokenFigures, TokenSum, list_unpriced
from ctxmode.render import terminal
from ctxmode.render.highlight import one_line
from ctxmode.render.session_tables import NOT_RECORDED

NO_PRICE = "no price"
NONE_YET = (
    "No tokens are recorded yet. Read this project's sessions with: context-mode sessions track"
)


def show(figures: TokenFigures) -> None:
    """Show a row a key, the total, and what the figures leave out."""
    out = terminal.console()
    if not figures.rows:
        out.print(NONE_YET)
    else:
        _show_rows(figures)
    for line in _describe(figures):
        out.print(Text(line))


def _show_rows(figures: TokenFigures) -> None:
    names = tuple(kind.replace("_", " ") for kind in KINDS)
    numbers = ("responses", *names, *(("cost",) if figures.has_prices else ()))
    table = terminal.build_table(figures.by, *numbers, fixed=numbers, right=numbers)
    for row in figures.rows:
        table.add_row(Text(one_line(row.key) or NOT_RECORDED), *_cells(figures, row))
    table.add_row("total", *_cells(figures, figures.total), style="bold")
    terminal.console().print(table)


def _cells(figures: TokenFigures, row: TokenSum) -> list[str]:
    counts = [getattr(row, kind) for kind in KINDS]
    cells = [str(row.responses), *(NOT_RECORDED if it is None else f"{it:,}" for it in counts)]
    if figures.has_prices:
        cells.append(_cost(row))
    return cells


def _cost(row: TokenSum) -> str:
    if row.cost is None:
        return NO_PRICE if row.no_price else NOT_RECORDED
    return format_cost(row.cost)


def format_cost(cost: Decimal) -> str:
    """Write a cost with as many digits as tell something: two, or more of a small one."""
    return f"{cost:,.2f}" if cost >= 1 or not cost else f"{cost:.6f}".rstrip("0")


def _describe(figures: TokenFigures) -> list[str]:
    lines = []
    if figures.cache_read_share is not None:
        lines.append(f"read from a cache: {figures.cache_read_share:.0%} of the input")
    for title, counts in (("by status", figures.statuses), ("by agent", figures.agents)):
        if any(counts.values()):
            told = ", ".join(f"{one_line(name)} {count}" for name, count in counts.items() if count)
            lines.append(f"sessions {title}: {told}")
    for model, kinds in list_unpriced(figures) if figures.has_prices else ():
        named = one_line(model) or "a model that is not recorded"
        lines.append(f"{NO_PRICE}, left out of the cost: {named} ({', '.join(kinds)})")
    return lines
