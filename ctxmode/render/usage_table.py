"""Bytes that calls produced, returned and kept: lines for a model, a chart for a user."""

from __future__ import annotations

from collections.abc import Callable

from base.wording import inflect
from ctxmode.operations.figures import ESTIMATOR, FORMULA, ToolFigures
from ctxmode.operations.usage import Counts
from ctxmode.render.highlight import one_line, size

BAR_COLUMNS = 30
BAR_HEADING = "returned of what was produced"
GAP = 2
"""Columns between two cells."""

BAR_BYTES_MIN = 1024
"""Minimum of produced bytes for a bar; below it, a share says nothing about savings."""

BLOCKS = " ▏▎▍▌▋▊▉█"


def usage_text(usage: ToolFigures) -> str:
    """Write one line per tool, and the total."""
    if not usage.tools:
        return "No tool was called in this project yet."
    lines = [f"{tool}: {_counts_text(counts)}" for tool, counts in usage.tools.items()]
    total = usage.total
    kept = f"{describe_tokens(usage.tokens_kept)} ({ESTIMATOR})"
    return "\n".join(
        [*lines, f"total: {_counts_text(total)}, {kept}", f"[bytes are measured: {FORMULA}]"]
    )


def _counts_text(counts: Counts) -> str:
    failed = f" ({counts.errors} failed)" if counts.errors else ""
    return (
        f"{inflect(counts.calls, 'call')}{failed}, produced {exact_size(counts.produced)}, "
        f"returned {exact_size(counts.returned)}, {_kept_text(counts)}"
    )


def _kept_text(counts: Counts) -> str:
    kept = describe_kept(counts.kept, exact_size)
    if counts.kept < 0:
        return f"{kept} than produced"
    return f"kept {kept}" + (f", reduction {share}" if (share := _share(counts)) else "")


def _share(counts: Counts) -> str:
    """Write the share that was kept; empty if answers were longer than the produced output."""
    has_share = counts.reduction is not None and counts.kept >= 0
    return f"{counts.reduction:.0%}" if has_share else ""


def exact_size(count: int) -> str:
    """Write the exact number of bytes, so that parts add up to their total."""
    return f"{count:,} B"


def describe_kept(count: int, write: Callable[[int], str] = size) -> str:
    """Write how many bytes stayed out of the context, or how many more were returned."""
    return f"{write(-count)} more" if count < 0 else write(count)


def describe_tokens(count: int) -> str:
    """Write about how many tokens were kept, or how many more were returned."""
    return f"about {-count:,} tokens more" if count < 0 else f"about {count:,} tokens"


def show(usage: ToolFigures) -> None:
    """Print the table and its chart."""
    from rich.text import Text  # noqa: PLC0415 - for people only

    from ctxmode.render import terminal  # noqa: PLC0415

    numbers = ("calls", "produced", "returned", "kept", "reduction")
    console = terminal.console()
    for kind, parts in (("tool", usage.tools), ("project", usage.projects)):
        if not parts:
            continue
        rows = [*parts.items(), ("total", usage.total)]
        cells = [_cells(name, counts) for name, counts in rows]
        bars = [bar(counts) for _, counts in rows]
        widths = [max(map(len, column)) for column in zip((kind, *numbers), *cells, strict=True)]
        # If there is no room for both, numbers are shown without bars.
        place = console.width - sum(widths) - GAP * len(widths)
        heading = [BAR_HEADING] if any(bars) and place >= BAR_COLUMNS + len(" 100%") else []
        columns = (kind, *numbers, *heading)
        table = terminal.build_table(*columns, fixed=columns, right=numbers)
        for row, drawn in zip(cells, bars, strict=True):
            style = "bold" if row[0] == "total" else ""
            table.add_row(*map(Text, [*row, drawn][: len(columns)]), style=style)
        console.print(table)
    tokens = describe_tokens(usage.tokens_kept)
    console.print(f"\nbytes are measured: {FORMULA}; kept {tokens} ({ESTIMATOR})")


def _cells(name: str, counts: Counts) -> tuple[str, ...]:
    """Write a row with exact sizes."""
    kept = describe_kept(counts.kept, exact_size)
    sizes = (exact_size(counts.produced), exact_size(counts.returned), kept)
    return (one_line(name), str(counts.calls), *sizes, _share(counts))


def bar(counts: Counts) -> str:
    """Draw the returned share of the produced bytes; empty if they are below BAR_BYTES_MIN."""
    if counts.reduction is None or counts.produced < BAR_BYTES_MIN:
        return ""
    returned = 1 - counts.reduction
    eighths = round(returned * BAR_COLUMNS * 8)
    full, part = divmod(eighths, 8)
    filled = "█" * full + (BLOCKS[part] if part else "")
    share = "more" if counts.kept < 0 else f"{returned:.0%}"
    return f"{filled:·<{BAR_COLUMNS}} {share}"
