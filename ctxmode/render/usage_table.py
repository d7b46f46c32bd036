"""What calls produced, returned and kept: as lines for a model, as a chart for a person."""

from __future__ import annotations

from ctxmode.operations.figures import ESTIMATOR, FORMULA, ToolFigures
from ctxmode.operations.usage import Counts
from ctxmode.render.highlight import one_line, size

BAR_COLUMNS = 30
BLOCKS = " ▏▎▍▌▋▊▉█"


def usage_text(usage: ToolFigures) -> str:
    """Write one line a tool, and the total."""
    if not usage.tools:
        return "No tool was called in this project yet."
    lines = [f"{tool}: {_counts_text(counts)}" for tool, counts in usage.tools.items()]
    total = usage.total
    kept = f"{describe_tokens(usage.tokens_kept)} ({ESTIMATOR})"
    return "\n".join([*lines, f"total: {_counts_text(total)}, {kept}", f"[{FORMULA}]"])


def _counts_text(counts: Counts) -> str:
    failed = f" ({counts.errors} failed)" if counts.errors else ""
    return (
        f"{counts.calls} calls{failed}, produced {size(counts.produced)}, "
        f"returned {size(counts.returned)}, {_kept_text(counts)}"
    )


def _kept_text(counts: Counts) -> str:
    if counts.kept < 0:
        return f"{describe_kept(counts.kept)} than produced"
    reduction = "" if counts.reduction is None else f", reduction {counts.reduction:.0%}"
    return f"kept {describe_kept(counts.kept)}{reduction}"


def describe_kept(count: int) -> str:
    """Write how many bytes stayed out of the context, or how many more came into it."""
    return f"{size(-count)} more" if count < 0 else size(count)


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
        columns = (kind, *numbers, "returned of what was produced")
        table = terminal.build_table(*columns, fixed=columns, right=numbers)
        for name, counts in [*parts.items(), ("total", usage.total)]:
            sizes = (size(counts.produced), size(counts.returned), describe_kept(counts.kept))
            has_share = counts.reduction is not None and counts.kept >= 0
            share = f"{counts.reduction:.0%}" if has_share else ""
            style = "bold" if name == "total" else ""
            row = (Text(one_line(name)), str(counts.calls), *sizes, share, Text(bar(counts)))
            table.add_row(*row, style=style)
        console.print(table)
    kept = describe_tokens(usage.tokens_kept)
    console.print(f"\n{FORMULA}; kept {kept} ({ESTIMATOR})")


def bar(counts: Counts) -> str:
    """Draw the returned share of what was produced; nothing where nothing was produced."""
    if counts.reduction is None:
        return ""
    returned = 1 - counts.reduction
    eighths = round(returned * BAR_COLUMNS * 8)
    full, part = divmod(eighths, 8)
    filled = "█" * full + (BLOCKS[part] if part else "")
    share = "more" if counts.kept < 0 else f"{returned:.0%}"
    return f"{filled:·<{BAR_COLUMNS}} {share}"
