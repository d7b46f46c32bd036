"""What calls produced, returned and kept: as lines for a model, as a chart for a person."""

from __future__ import annotations

import sqlite3

from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError
from ctxmode.operations.usage import ESTIMATOR, FORMULA, Counts, ToolUsage, read, tokens
from ctxmode.render.amounts import size

BAR_COLUMNS = 30
BLOCKS = " ▏▎▍▌▋▊▉█"


def read_usage(config: Config) -> ToolUsage:
    """Read the project's counts; a ContextModeError says that the file is damaged or cannot be
    read."""
    try:
        return read(config.usage_file)
    except sqlite3.Error as error:
        raise ContextModeError(
            f"{config.usage_file}: {error}", "Remove that file to start counting anew."
        ) from error


def usage_text(usage: ToolUsage) -> str:
    """Write one line a tool, and the total."""
    if not usage.tools:
        return "No tool was called in this project yet."
    lines = [f"{tool}: {_counts_text(counts)}" for tool, counts in usage.tools.items()]
    total = usage.total
    kept = f"about {tokens(total.kept)} tokens ({ESTIMATOR})"
    return "\n".join([*lines, f"total: {_counts_text(total)}, {kept}", f"[{FORMULA}]"])


def _counts_text(counts: Counts) -> str:
    failed = f" ({counts.errors} failed)" if counts.errors else ""
    return (
        f"{counts.calls} calls{failed}, produced {size(counts.produced)}, "
        f"returned {size(counts.returned)}, kept {format_signed(counts.kept)}"
    )


def format_signed(count: int) -> str:
    """Write a size that may be below zero."""
    return f"-{size(-count)}" if count < 0 else size(count)


def show(usage: ToolUsage) -> None:
    """Print the table and its chart."""
    from rich.text import Text  # noqa: PLC0415 - for people only

    from ctxmode.render import terminal  # noqa: PLC0415

    numbers = ("calls", "produced", "returned", "kept")
    columns = ("tool", *numbers, "returned of what was produced")
    table = terminal.build_table(*columns, fixed=columns, right=numbers)
    rows = [*usage.tools.items(), ("total", usage.total)]
    for tool, counts in rows:
        sizes = (size(counts.produced), size(counts.returned), format_signed(counts.kept))
        style = "bold" if tool == "total" else ""
        table.add_row(tool, str(counts.calls), *sizes, Text(bar(counts)), style=style)
    console = terminal.console()
    console.print(table)
    total = usage.total
    console.print(f"\n{FORMULA}; about {tokens(total.kept)} tokens kept ({ESTIMATOR})")


def bar(counts: Counts) -> str:
    """Draw the returned share of what was produced; nothing where nothing was produced."""
    if counts.produced <= 0:
        return ""
    eighths = round(min(counts.returned / counts.produced, 1.0) * BAR_COLUMNS * 8)
    full, part = divmod(eighths, 8)
    filled = "█" * full + (BLOCKS[part] if part else "")
    return f"{filled:·<{BAR_COLUMNS}} {counts.returned / counts.produced:.0%}"
