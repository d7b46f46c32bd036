"""The harness of all benchmarks: measures, their rows, and sides that take turns."""

from __future__ import annotations

import inspect
import math
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import trio

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(__file__).with_name("data")
PROGRAMS: Mapping[str, str] = tomllib.loads((DATA / "programs.toml").read_text())

Side = Callable[[], object]
"""One of the things compared. A side that returns a float has timed itself, in seconds."""

Run = TypeVar("Run", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    Attributes:
        name: what is measured.
        ours: the median, or the one value there is.
        unit: of `ours`, `other` and `p95`.
        p95: the sample that 95 of 100 do not exceed.
        beside: what it is compared with, in turn within the same run.
        other: the median of that.
        bar: the limit that it is held to: `≥ 8 MB`, `ratio ≤ 1.6`, or `≤ 1 ms more` than `other`.
    """

    name: str
    ours: float
    unit: str = "ms"
    p95: float | None = None
    beside: str = ""
    other: float | None = None
    bar: str = ""

    @property
    def ratio(self) -> float | None:
        return self.ours / self.other if self.other else None

    @property
    def is_within(self) -> bool:
        """Tell whether the row keeps to its bar; one without a bar does."""
        found = re.search(r"([≤≥]) ([\d.]+)", self.bar)
        value: float | None = self.ours
        if self.bar.startswith("ratio"):
            value = self.ratio
        elif self.bar.endswith("more"):
            value = self.ours - self.other if self.other is not None else None
        if found is None or value is None:
            return True
        limit = float(found[2])
        return value >= limit if found[1] == "≥" else value <= limit


def median_and_p95(samples: Sequence[float]) -> tuple[float, float]:
    """Return the median, and the 95th percentile by nearest rank."""
    ordered = sorted(samples)
    return statistics.median(ordered), ordered[math.ceil(0.95 * len(ordered)) - 1]


class NotMeasuredError(Exception):
    """The reason why a measure can't be taken here."""


@dataclass(slots=True)
class Bench:
    """The means of a measure, and its results so far.

    Attributes:
        rounds: how often each side is timed.
        folder: an empty folder, deleted afterwards.
        options: the measure's options, by name.
        only: a part of the names of the rows that are wanted.
        rows: what was measured so far.
        notes: what else a reader has to know.
    """

    rounds: int
    folder: Path
    options: Mapping[str, str] = field(default_factory=dict)
    only: str = ""
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def wants(self, name: str) -> bool:
        """Tell whether `--only` leaves a row."""
        return self.only in name

    def path(self, option: str) -> Path:
        """Return an option that names a file or folder."""
        return Path(self.options[option]).expanduser()

    def make_folder(self, name: str) -> Path:
        """Make a folder below the measure's own."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def value(  # noqa: PLR0913 - a row's columns
        self,
        name: str,
        value: float,
        unit: str = "",
        *,
        beside: str = "",
        other: float | None = None,
        bar: str = "",
    ) -> None:
        """Add a row of one value."""
        self.rows.append(Row(name, value, unit, None, beside, other, bar))

    def times(
        self,
        name: str,
        samples_s: Sequence[float],
        beside: str = "",
        others_s: Sequence[float] = (),
        bar: str = "",
    ) -> None:
        """Add a row of times, given in seconds, with those of the other side."""
        ours, p95 = median_and_p95(samples_s)
        other = statistics.median(others_s) * 1000 if others_s else None
        self.rows.append(Row(name, ours * 1000, "ms", p95 * 1000, beside, other, bar))

    async def time_sides(
        self,
        name: str,
        ours: Side,
        beside: str = "",
        other: Side | None = None,
        bar: str = "",
        **turns: Any,  # noqa: ANN401 - as of `turns`
    ) -> None:
        """Time a side, in turn with the other; add the row if it is wanted."""
        if self.wants(name):
            sides = (ours,) if other is None else (ours, other)
            took, *others = await self.turns(*sides, **turns)
            self.times(name, took, beside, others[0] if others else (), bar)

    async def turns(
        self,
        *sides: Side,
        rounds: int | None = None,
        warm_up: int = 1,
        before: Side | None = None,
        pause_s: float = 0.0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> list[list[float]]:
        """Let sides take turns; return the seconds of each.

        Rounds of `warm_up` are not counted. `before` runs ahead of each side, untimed.
        """
        samples: list[list[float]] = [[] for _ in sides]
        for number in range(warm_up + (self.rounds if rounds is None else rounds)):
            for side, took in zip(sides, samples, strict=True):
                if before is not None:
                    await time_side(before)
                seconds = await time_side(side, clock)
                if number >= warm_up:
                    took.append(seconds)
            await trio.sleep(pause_s)
        return samples


@dataclass(frozen=True, slots=True)
class Measure:
    """One benchmark.

    Attributes:
        run: the function that adds rows to a `Bench`; it may be asynchronous.
        rounds: how often each side is timed, unless `--rounds` says otherwise.
        is_long: whether it runs only when it is named.
        needs: programs without which it is not measured.
        options: what `--with NAME=VALUE` sets, with defaults; an empty one has to be given.
    """

    run: Callable[[Bench], object]
    rounds: int
    is_long: bool
    needs: Sequence[str]
    options: Mapping[str, str]

    @property
    def room(self) -> str:
        """The file that it is in, without what follows a `_`."""
        return self.run.__module__.rpartition(".")[2].partition("_")[0]

    @property
    def name(self) -> str:
        return f"{self.room}.{self.run.__name__}"

    @property
    def about(self) -> str:
        """The first line of its function's docstring, without `Measure`."""
        return (
            (inspect.getdoc(self.run) or "").partition("\n")[0].removeprefix("Measure ").rstrip(".")
        )


MEASURES: list[Measure] = []
"""All that are in the files that were imported."""


def measure(
    rounds: int,
    *,
    is_long: bool = False,
    needs: Sequence[str] = (),
    **options: str,
) -> Callable[[Run], Run]:
    """Add a function to the measures, with the attributes of `Measure`."""

    def add(run: Run) -> Run:
        MEASURES.append(Measure(run, rounds, is_long, needs, options))
        return run

    return add


async def time_side(side: Side, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds that a side took, by its own account if it has one."""
    began = clock()
    told = side()
    if inspect.isawaitable(told):
        told = await told
    return told if isinstance(told, float) else clock() - began


def take(
    measure: Measure,
    *,
    rounds: int | None = None,
    only: str = "",
    given: Mapping[str, str] | None = None,
) -> Bench:
    """Run one measure in a folder of its own.

    Raises:
        NotMeasuredError: an option or something on this machine is missing.
    """
    options = {**measure.options, **(given or {})}
    for name in measure.options:
        if not options[name]:
            raise NotMeasuredError(f"needs --with {name}=VALUE")
    for program in measure.needs:
        if shutil.which(program) is None:
            raise NotMeasuredError(f"this machine has no {program}")
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        os.chmod(folder, 0o711)  # programs are another user's when this one is root
        bench = Bench(rounds or measure.rounds, Path(folder), options, only)

        async def run() -> None:
            done = measure.run(bench)
            if inspect.isawaitable(done):
                await done

        trio.run(run)
    return bench


def find_reason(error: BaseException) -> NotMeasuredError | None:
    """Return why a measure can't be taken, from within groups of errors, too."""
    if isinstance(error, BaseExceptionGroup):
        found: Iterable[NotMeasuredError | None] = map(find_reason, error.exceptions)
        return next(filter(None, found), None)
    return error if isinstance(error, NotMeasuredError) else None


def read_output(*command: str | Path, cwd: Path | None = None) -> str:
    """Return what a command prints, which has to succeed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def write_files(folder: Path, files: Iterable[tuple[str, str]]) -> None:
    """Write texts below a folder, by their names."""
    for name, text in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
