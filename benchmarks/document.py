"""BENCHMARKS.md: its writing, the revision it names, and what differs from another revision."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT, Row, read_output

NOISE = 0.1
"""A smaller share by which a figure differs is not shown."""

AGE_MAX = 100
"""Commits after which the figures have to be measured again."""

_REVISION = re.compile(r"^- .* UTC, revision ([0-9a-f]{7,40})\b", re.MULTILINE)


def document(results: Mapping[str, Any]) -> str:
    """Return BENCHMARKS.md: under which conditions it was measured, and a table a room."""
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    loads = ", ".join(f"{load:.2f}" for load in os.getloadavg())
    has_changes = bool(run_git("status", "--porcelain", "--", ":!BENCHMARKS.md"))
    parts = [
        "# Benchmarks",
        "",
        "Written by `python -m benchmarks`. What is compared takes turns within one run; times",
        "depend on the machine. A bar that was missed is in bold. See [how to read them][page].",
        "",
        "[page]: docs/benchmarks.md",
        "",
        f"- {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC, revision "
        + (run_git("rev-parse", "--short=12", "HEAD") or "unknown")
        + (", with changes" if has_changes else ""),
        f"- {_name_processor()}, {os.cpu_count()} processors, {gib:.1f} GiB of memory",
        f"- {platform.system()} {platform.release().partition('-')[0]}, Python"
        f" {platform.python_version()}, load average at the end {loads}",
    ]
    return "\n".join([*parts, *sections(results)]) + "\n"


def sections(results: Mapping[str, Any]) -> list[str]:
    """Return a heading, a table and notes for each room."""
    lines = []
    for room, result in results.items():
        lines += ["", f"## {room}", ""]
        rows = [_line(Row(**row)) for row in result["rows"]]
        if rows:
            lines += ["| measure | ours | p95 | beside | ratio | bar |"]
            lines += ["| --- | ---: | ---: | --- | ---: | --- |", *rows]
        lines += [""] if rows and result["notes"] else []
        lines += [f"- {note}" for note in result["notes"]]
    return lines


def _line(row: Row) -> str:
    p95 = _show(row.p95) if row.p95 is not None else ""
    beside = f"{_show(row.other)}, {row.beside}" if row.other is not None else ""
    ratio = f"{row.ratio:.2f}" if row.ratio is not None else ""
    bar = row.bar if row.is_within else f"**{row.bar}**"
    return f"| {row.name} | {_show(row.ours)} {row.unit} | {p95} | {beside} | {ratio} | {bar} |"


def _show(value: float) -> str:
    """Write a number with about three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def read_revision(text: str) -> str:
    """Return the revision that BENCHMARKS.md was measured at; empty if it names none."""
    found = _REVISION.search(text)
    return found.group(1) if found else ""


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return a line for each figure that changed by more than noise, the largest change first."""
    old = {row["name"]: row["ours"] for row in before["rows"]}
    changed = []
    for row in (Row(**row) for row in after["rows"]):
        was = old.get(row.name)
        ratio = row.ours / was if was else 1.0
        if abs(ratio - 1) >= NOISE:
            line = f"{row.name:<50} {was:>10.4g} → {row.ours:>10.4g} {row.unit}  {ratio:.2f}"
            changed.append((abs(ratio - 1), line))
    told = [line for _, line in sorted(changed, reverse=True)]
    return [*before["notes"], *after["notes"], *(told or ["nothing differs by 10 % or more"])]


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """Have another revision's sources in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        tree = Path(folder, "tree")
        subprocess.run(
            ["git", "worktree", "add", "--detach", str(tree), revision], cwd=ROOT, check=True
        )
        try:
            yield tree
        finally:
            run_git("worktree", "remove", "--force", str(tree))


def run_git(*arguments: str) -> str:
    """Return what git prints about this checkout; empty if it fails or is missing."""
    try:
        return read_output("git", *arguments, cwd=ROOT).strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _name_processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
