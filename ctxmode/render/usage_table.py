"""What calls produced, returned and kept: as lines for a model, as a chart for a person."""

from __future__ import annotations

from ctxmode.operations.figures import ESTIMATOR, FORMULA, Counts, ToolFigures
from ctxmode.render.amounts import size
from ctxmode.render.highlight import one_line

BAR_COLUMNS = 30
BLOCKS = " ▏▎▍▌▋▊▉█"


def usage_text(usage: ToolFigures) -> str:
    """Write one line a tool, and the total."""
    if not usage.tools:
        return "No tool was called in this project yet."
    lines = [f"{tool}: {_counts_text(counts)}" for tool, counts in usage.tools.items()]
    total = usage.total
    kept = f"about {usage.tokens_kept} tokens ({ESTIMATOR})"
    return "\n".join([*lines, f"total: {_counts_text(total)}, {kept}", f"[{FORMULA}]"])


def _counts_text(counts: Counts) -> str:
    failed = f" ({counts.errors} failed)" if counts.errors else ""
    return (
        f"{counts.calls} calls{failed}, produced {size(counts.produced)}, "
        f"returned {size(counts.returned)}, kept {format_signed(counts.kept)}"
        f"{_reduction_text(counts)}"
    )


def _reduction_text(counts: Counts) -> str:
    return "" if counts.reduction is None else f", reduction {counts.reduction:.0%}"


def format_signed(count: int) -> str:
    """Write a size that may be below zero."""
    return f"-{size(-count)}" if count < 0 else size(count)


def show(usage: ToolFigures) -> None:
    """Print the table and its chart."""
    from rich.text import Text  # noqa: PLC0415 - for people only

    from ctxmode.render import terminal  # noqa: PLC0415

    numbers = ("calls", "produced", "returned", "kept", "reduction")
    console = terminal.console()
    for kind, parts in (("tool", usage.tools), ("project", usage.projects)):
        if not parts:
            continue
        columns = (kind, *numbers, "returned of what was produced")
        table = terminal.build_table(*columns, fixed=columns, right=numbers)
        for name, counts in [*parts.items(), ("total", usage.total)]:
            sizes = (size(counts.produced), size(counts.returned), format_signed(counts.kept))
            share = "" if counts.reduction is None else f"{counts.reduction:.0%}"
            style = "bold" if name == "total" else ""
            row = (Text(one_line(name)), str(counts.calls), *sizes, share, Text(bar(counts)))
            table.add_row(*row, style=style)
        console.print(table)
    console.print(f"\n{FORMULA}; about {usage.tokens_kept} tokens kept ({ESTIMATOR})")


def bar(counts: Counts) -> str:
    """Draw the returned share of what was produced; nothing where nothing was produced."""
    if counts.reduction is None:
        return ""
    returned = 1 - counts.reduction
    eighths = round(min(returned, 1.0) * BAR_COLUMNS * 8)
    full, part = divmod(eighths, 8)
    filled = "█" * full + (BLOCKS[part] if part else "")
    return f"{filled:·<{BAR_COLUMNS}} {returned:.0%}"
