"""Health and use of the program: what works, disk space, prewarmed programs, tools' calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from base.wording import inflect
from ctxmode.operations.figures import ESTIMATOR, FORMULA, ToolFigures
from ctxmode.operations.usage import Counts
from ctxmode.render.highlight import one_line, size

if TYPE_CHECKING:
    from ctxmode.doctor.diagnosis import ClientsHealth, Diagnosis
    from ctxmode.operations.quotas import Holdings
    from executor import LanguageReport, Layer
    from executor.instance import PrewarmReport
    from fleet import FleetHealth
    from kb import all_stores, eviction


def doctor_text(diagnosis: Diagnosis) -> str:
    """Write one line per fact, for clients that cannot show a table."""
    languages = map(_language_line, diagnosis.languages.values())
    layers = (_layer_line(name, it) for name, it in diagnosis.isolation.layers.items())
    parts = {"storage": diagnosis.storage, "fts5": diagnosis.fts5, "opening": diagnosis.opening}
    lines = [
        f"project: {diagnosis.project}",
        f"isolation: tier {diagnosis.isolation.tier}",
        *layers,
        *languages,
        *(
            f"{name}: {it.detail if it.ok else f'BROKEN: {it.reason}'}"
            for name, it in parts.items()
        ),
        f"container engine: {diagnosis.container_engine.summary}",
        *packages_lines(diagnosis.packages),
        *cluster_lines(diagnosis.cluster),
        *facts_lines(diagnosis.facts),
        *pages_lines(diagnosis.pages),
        *holdings_lines(diagnosis.holdings),
        *describe_prewarmed(diagnosis.prewarmed),
        *describe_instances(diagnosis.instances),
        *(f"notice: {notice}" for notice in diagnosis.notices),
        f"critical parts that do not work: {', '.join(diagnosis.critical) or 'none'}",
    ]
    return "\n".join(lines)


def packages_lines(clients: Sequence[ClientsHealth]) -> list[str]:
    """Write which clients fetch packages, and why some packages cannot be fetched."""
    working = [f"{it.ecosystem} by {by_clients(it)}" for it in clients if it.ok]
    missing = [f"no packages of {it.ecosystem}: {_with_hint(it)}" for it in clients if not it.ok]
    return [*([f"packages: {', '.join(working)}"] if working else []), *missing]


def by_clients(health: ClientsHealth) -> str:
    """Name the clients that fetch an ecosystem's packages."""
    return " and ".join(health.clients) or "its toolchain"


def _with_hint(health: ClientsHealth) -> str:
    return f"{health.reason}. To fix it: {health.remedy}" if health.remedy else health.reason


def facts_lines(facts: Mapping[str, Any] | None) -> list[str]:
    """Write the number of facts, or the problem with their files."""
    if facts is None:
        return []
    if facts["reason"]:
        return [f"facts: problem found: {facts['reason']}"]
    return [f"facts: {facts['facts']} of the project, {facts['users_facts']} of the user"]


def cluster_lines(health: FleetHealth | None) -> list[str]:
    """Write the state of the machines that runs are sent to; no line if there are none."""
    if health is None:
        return []
    if health.runs:
        took = f"{health.run_s:.1f} s" if health.run_s is not None else "?"
        line = f"Fleet: {health.url}: {health.worker}, tier {health.tier}, a run took {took}"
        return [line, f"  slow: {health.advice}"] if health.advice else [line]
    works = "answers and stores blobs" if health.keeps_blobs else "answers"
    state = works if health.answers else "does not answer"
    lines = [f"Fleet: {health.url} {state}, and cannot run programs: {health.reason}"]
    return [*lines, f"  {health.remedy}"] if health.remedy else lines


def pages_lines(pages: Mapping[str, Any] | None) -> list[str]:
    """Write whether pages can be used and are set up."""
    if pages is None:
        return []
    if pages["reason"]:
        return [f"pages: not available: {pages['reason']}"]
    if not pages["is_begun"]:
        return [f"pages: {pages['git']}, not set up (context-mode pages init)"]
    captured = "captured" if pages["captures"] else "not captured"
    return [f"pages: {pages['git']}, set up, turns are {captured}"]


def brief_reason(report: LanguageReport) -> str:
    """Return the first line of the reason why a language does not run, without a stack trace."""
    first, *more = report.reason.strip().splitlines() or [""]
    return f"{first.rstrip()} …" if more else first


def _language_line(report: LanguageReport) -> str:
    if not report.runnable:
        return f"{report.name}: not runnable: {brief_reason(report)}. {report.hint}"
    version = f" {report.version}" if report.version else ""
    return f"{report.name}: {report.toolchain}{version}, starts in {report.start_ms:.0f} ms"


def _layer_line(name: str, layer: Layer) -> str:
    return f"{name}: {layer.detail}" if layer.active else f"{name}: off: {layer.reason}"


def holdings_lines(holdings: Holdings | None) -> list[str]:
    """Write the disk space in use and what was deleted for quotas."""
    if holdings is None:
        return []
    return [
        f"on disk: {size(holdings.used_bytes)} of {size(holdings.quota_bytes)} for this project, "
        f"{size(holdings.all_used_bytes)} of {size(holdings.all_quota_bytes)} for all projects "
        f"({holdings.projects})",
        *(_describe_eviction(one) for one in holdings.dropped),
        *_describe_skipped(holdings.of_all),
    ]


def _describe_eviction(one: eviction.Eviction) -> str:
    when = datetime.fromtimestamp(one.begun_at).strftime("%Y-%m-%d %H:%M")
    quota = "the project's quota" if one.quota == "project" else "the quota of all projects"
    running = "" if one.ended_at is not None else ", still running"
    return (
        f"deleted for {quota}, {when}: {one.sources} of the oldest sources, "
        f"{size(one.text_bytes)} of text{running}"
    )


def _describe_skipped(report: all_stores.QuotaReport | None) -> list[str]:
    if report is None:
        return []
    return [
        f"skipped for the quota of all projects: {name}: {reason}"
        for name, reason in report.passed_over.items()
    ]


def describe_prewarmed(kept: Iterable[PrewarmReport]) -> list[str]:
    """Write what is kept ready for runs, one line for each kind and server."""
    lines = []
    for one in kept:
        trouble = f"; the last start failed: {one.trouble}" if one.trouble else ""
        lines.append(
            f"kept ready: {one.idle} for {one.label}, {size(one.bytes)}, used by {one.hits} of "
            f"{one.hits + one.misses} runs (server {one.instance}){trouble}"
        )
    return lines


def describe_instances(processes: Sequence[int]) -> list[str]:
    """Write which processes answer hooks and run programs for all commands; no line without one."""
    return [f"shared instance: process {process}" for process in processes]


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


def show_usage(usage: ToolFigures) -> None:
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
