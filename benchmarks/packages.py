"""What packages cost a run: at the first use, beside `uv pip install`, and at the second.

    python -m benchmarks.packages [--package NAME] [--rounds N] [--json]

First use means that nothing is kept: locked, fetched, compiled, sealed, run. Beside it, uv installs
the same into a folder, with an empty cache. Second use means the same small program with and
without the layer, in turns: in a server whose cells wait, as a cold cell, and as a command of its
own. The registry is the one that your configuration names; the store is a new one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import trio

from benchmarks.execute import Times, something_waits, times
from ctxmode.config.engine_settings import engine_settings
from ctxmode.config.locations import load_config
from executor import LocalEngine, PackagesError, Request, Settings, open_engine
from runtimes.packages.registry import BY_NAME
from runtimes.packages.tools import find_tool

CODE = "print(1)"
WARM_UP_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Sides:
    """The same program without packages and with them, and what they add at the median."""

    without: Times
    with_them: Times
    added_ms: float


@dataclass(frozen=True, slots=True)
class Report:
    """All that was measured, and under which conditions."""

    package: str
    rounds: int
    processors: int
    load_before: tuple[float, ...]
    load_after: tuple[float, ...]
    first_s: float
    uv_s: float
    uv_compiled_s: float
    waiting: Sides
    cold: Sides
    command: Sides


def sides(without: Sequence[float], with_them: Sequence[float]) -> Sides:
    a, b = times(without[WARM_UP_ROUNDS:]), times(with_them[WARM_UP_ROUNDS:])
    return Sides(a, b, b.median_ms - a.median_ms)


async def run_once(engine: LocalEngine, *packages: str) -> float:
    """Seconds from the request to its result."""
    started = time.perf_counter()
    completed = await engine.run(Request("python", CODE, packages=packages))
    took = time.perf_counter() - started
    if completed.result.stdout.text != "1\n":
        raise RuntimeError(f"it ended so: {completed.result}")
    return took


async def compare(engine: LocalEngine, package: str, rounds: int, *, waits: bool) -> Sides:
    """Both sides in turn, after rounds that do not count."""
    samples: tuple[list[float], list[float]] = ([], [])
    for _ in range(WARM_UP_ROUNDS + rounds):
        for side, packages in zip(samples, ((), (package,)), strict=True):
            if waits:
                await something_waits(engine)
            side.append(await run_once(engine, *packages))
    return sides(*samples)


def by_uv(package: str, settings: Settings, *options: str) -> float:
    """Seconds that uv takes to install into a folder, with an empty cache."""
    tool = find_tool(BY_NAME["python"].tools[0])
    if tool is None:
        raise RuntimeError("uv is not here")
    registry = settings.packages.registries.get("python")
    index = registry.url if registry and registry.url else BY_NAME["python"].registry
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        environ = {**os.environ, "UV_CACHE_DIR": f"{folder}/cache"}
        started = time.perf_counter()
        target = ("--target", f"{folder}/to", "--only-binary", ":all:", "-q", *options)
        command = [tool[0], "pip", "install", "--default-index", index, *target, package]
        subprocess.run(command, env=environ, check=True)
        return time.perf_counter() - started


def by_command(project: str, data: str, *packages: str) -> float:
    """Seconds of `context-mode run`."""
    named = [word for package in packages for word in ("--packages", package)]
    command = [sys.executable, "-m", "ctxmode", "run", *named, "python", "-c", CODE]
    root = str(Path(__file__).resolve().parent.parent)
    environ = {**os.environ, "CONTEXT_MODE_DIR": data, "PYTHONPATH": root}
    started = time.perf_counter()
    subprocess.run(command, cwd=project, env=environ, check=True, capture_output=True)
    return time.perf_counter() - started


async def measure(package: str, rounds: int) -> Report:
    load_before = os.getloadavg()
    with (
        tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as project,
        tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as data,
    ):
        settings, _ = engine_settings(load_config(project))
        state = Path(data, "state")
        state.mkdir()
        opened = partial(
            open_engine, project=Path(project), state_dir=state, rules=None, home=Path.home()
        )
        async with (
            opened(settings=replace(settings, prewarm=False)) as cold,
            opened(settings=settings) as warm,
        ):
            await run_once(cold)
            first_s = await run_once(cold, package)
            waiting = await compare(warm, package, rounds, waits=True)
            by_cold = await compare(cold, package, rounds, waits=False)
        commands: tuple[list[float], list[float]] = ([], [])
        for _ in range(WARM_UP_ROUNDS + rounds):
            commands[0].append(by_command(project, data))
            commands[1].append(by_command(project, data, package))
        return Report(
            *(package, rounds, os.cpu_count() or 1, load_before, os.getloadavg(), first_s),
            *(by_uv(package, settings), by_uv(package, settings, "--compile-bytecode")),
            *(waiting, by_cold, sides(*commands)),
        )


def table(report: Report) -> str:
    lines = [
        f"{report.package}, first use: {report.first_s:.1f} s; uv pip install: "
        f"{report.uv_s:.1f} s, with bytecode {report.uv_compiled_s:.1f} s",
        "second use           without, ms           with, ms      added",
        "                  min median    p95    min median    p95  median",
    ]
    for name, row in {
        "server, waiting": report.waiting,
        "server, cold": report.cold,
        "command": report.command,
    }.items():
        both = "".join(
            f"{side.min_ms:>7.1f}{side.median_ms:>7.1f}{side.p95_ms:>7.1f}"
            for side in (row.without, row.with_them)
        )
        lines.append(f"{name:<15}{both}{row.added_ms:>8.1f}")
    before, after = report.load_before[0], report.load_after[0]
    lines.append(
        f"n = {report.rounds} each, taking turns; {report.processors} processors; load average "
        f"{before:.2f} before, {after:.2f} after"
    )
    return "\n".join(lines)


def word_failure(failed: BaseExceptionGroup[PackagesError]) -> str:
    """Why there is nothing to measure, and what helps, in a line."""
    first: BaseException = failed
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    assert isinstance(first, PackagesError)
    said = " ".join(str(first).split())
    return f"{said}; {first.hint}" if first.hint else said


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packages", description=__doc__)
    parser.add_argument("--package", default="pandas", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=20, metavar="N")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    try:
        report = trio.run(measure, args.package, args.rounds)
    except* PackagesError as failed:
        sys.exit(word_failure(failed))
    print(json.dumps(asdict(report), indent=2) if args.json else table(report))


if __name__ == "__main__":
    main()
