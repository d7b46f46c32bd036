"""What every benchmark reports, and how it is shown: a table for people, JSON for `--compare`."""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from ctxmode.config.rules import load
from executor import LocalEngine, Settings, open_engine


@dataclass(frozen=True, slots=True)
class Times:
    """Wall times of one side, in milliseconds."""

    median_ms: float
    p95_ms: float
    samples: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One thing measured, and what it is compared with in the same run; None is nothing.

    `bar` is the ratio, or with `bar_ms` the difference of the medians, that is to be reached.
    """

    name: str
    ours: Times
    other: Times | None = None
    bar: float | None = None
    bar_ms: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.ours.median_ms / self.other.median_ms if self.other else None

    @property
    def added_ms(self) -> float | None:
        return self.ours.median_ms - self.other.median_ms if self.other else None


@dataclass(slots=True)
class Report:
    """All that one benchmark measured, and under which conditions."""

    name: str
    rows: list[Row] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    load: float = field(default_factory=lambda: os.getloadavg()[0])
    processors: int = field(default_factory=lambda: os.cpu_count() or 1)

    def add(self, row: Row) -> None:
        self.rows.append(row)


def summary(samples_s: Sequence[float]) -> Times:
    """Median, and the sample that 95 of 100 do not exceed (nearest rank)."""
    ordered = sorted(samples_s)
    p95 = ordered[math.ceil(0.95 * len(ordered)) - 1]
    return Times(statistics.median(ordered) * 1000, p95 * 1000, len(ordered))


def lines(report: Report) -> list[str]:
    """The report as a Markdown table, figures and notes below it."""
    head = ["| what | median, ms | p95, ms | beside it, ms | ratio | added, ms |"]
    head.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    rows = [_line(row) for row in report.rows]
    figures = [
        f"- {name.replace('_', ' ')}: {value:,.1f}" for name, value in report.figures.items()
    ]
    load = f"- {report.processors} processors, load {report.load:.2f} at the start"
    notes = [f"- {note}" for note in report.notes]
    table = [*head, *rows, ""] if rows else []
    return [*table, *figures, *notes, load]


def _line(row: Row) -> str:
    other = f"{row.other.median_ms:.1f}" if row.other else ""
    ratio = f"{row.ratio:.2f}" if row.ratio is not None else ""
    added = f"{row.added_ms:+.1f}" if row.added_ms is not None else ""
    ours = row.ours
    return (
        f"| {row.name} | {ours.median_ms:.1f} | {ours.p95_ms:.1f} | {other} | {ratio} | {added} |"
    )


def argument_parser(module: str, about: str | None) -> argparse.ArgumentParser:
    """A parser with what all benchmarks take."""
    name = module if module != "__main__" else sys.modules["__main__"].__spec__.name  # type: ignore[union-attr]
    parser = argparse.ArgumentParser(
        prog=f"python -m {name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true")
    return parser


def show(report: Report, *, as_json: bool) -> None:
    if as_json:
        json.dump(asdict(report), sys.stdout, indent=2)
        print()
    else:
        print("\n".join(lines(report)))


@asynccontextmanager
async def opened(
    *, has_rules: bool = False, settings: Settings | None = None
) -> AsyncIterator[LocalEngine]:
    """An executor for an empty project, with nothing remembered; with the rules that hold there,
    or without any."""
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        project = Path(folder, "project")
        project.mkdir()
        async with open_engine(
            project=project,
            state_dir=Path(folder, "state"),
            rules=partial(load, project, Path.home()) if has_rules else None,
            home=Path.home(),
            settings=settings or Settings(),
        ) as executor:
            yield executor
