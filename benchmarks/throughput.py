"""Runs a second: `python -m benchmarks.throughput [--seconds N] [--json]`.

Eight clients at once, each with one one-line shell command after the other: through the executor, a
fresh cell for every run, and in bubblewrap with the same mounts; the two take turns by the second.
Then the same one after the other in one named session.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import trio

from benchmarks.bubblewrap import MISSING, command
from benchmarks.report import Report, Row, argument_parser, show, summary
from executor import LocalEngine, Request, open_engine

CLIENTS = 8
SLICE_S = 2.0
REQUEST = Request("shell", "echo word")
IN_SESSION = Request("shell", "echo word", session="throughput")


async def by_us(executor: LocalEngine, request: Request) -> float:
    started = time.perf_counter()
    result = (await executor.run(request)).result
    if result.stdout.text != "word\n":
        raise RuntimeError(f"{result.status} {result.message}")
    return time.perf_counter() - started


async def sustained(run: Callable[[], Awaitable[float]], clients: int) -> list[float]:
    """What each run took of so many clients that go on for a slice of time."""
    took: list[float] = []
    until = time.perf_counter() + SLICE_S

    async def client() -> None:
        while time.perf_counter() < until:
            took.append(await run())

    async with trio.open_nursery() as nursery:
        for _ in range(clients):
            nursery.start_soon(client)
    return took


def boxed_runs(argv: Sequence[str]) -> list[float]:
    """The same with a command."""
    took: list[float] = []
    until = time.perf_counter() + SLICE_S

    def client() -> None:
        while time.perf_counter() < until:
            started = time.perf_counter()
            subprocess.run(argv, stdout=subprocess.PIPE, check=True)
            took.append(time.perf_counter() - started)

    with ThreadPoolExecutor(CLIENTS) as pool:
        for done in [pool.submit(client) for _ in range(CLIENTS)]:
            done.result()
    return took


async def measure(seconds: float) -> Report:
    ours: list[float] = []
    boxed: list[float] = []
    spent_ours = spent_boxed = 0.0
    report = Report("throughput")
    with tempfile.TemporaryDirectory() as project, tempfile.TemporaryDirectory() as state:
        os.chmod(project, 0o755)
        argv = command(Path(project), ("/bin/bash", "-c", "echo word"))
        async with open_engine(
            project=Path(project), state_dir=Path(state), rules=None, home=Path.home()
        ) as executor:
            await by_us(executor, REQUEST)
            for _ in range(max(1, round(seconds / SLICE_S))):
                started = time.perf_counter()
                ours += await sustained(lambda: by_us(executor, REQUEST), CLIENTS)
                spent_ours += time.perf_counter() - started
                if argv:
                    started = time.perf_counter()
                    boxed += await trio.to_thread.run_sync(boxed_runs, argv)
                    spent_boxed += time.perf_counter() - started
            await by_us(executor, IN_SESSION)
            started = time.perf_counter()
            in_session = await sustained(lambda: by_us(executor, IN_SESSION), 1)
            spent_session = time.perf_counter() - started
    report.add(
        Row("8 clients, beside bubblewrap", summary(ours), summary(boxed) if boxed else None)
    )
    report.add(Row("one session", summary(in_session)))
    report.figures = {"runs per_s": len(ours) / spent_ours}
    if boxed:
        report.figures["bubblewrap runs per_s"] = len(boxed) / spent_boxed
        ratio = report.figures["runs per_s"] / report.figures["bubblewrap runs per_s"]
        report.figures["runs in per cent of bubblewrap's"] = 100 * ratio
    report.figures["p99, ms"] = sorted(ours)[int(0.99 * (len(ours) - 1))] * 1000
    report.figures["session calls per_s"] = len(in_session) / spent_session
    report.notes = ("no run failed", *(() if argv else (MISSING,)))
    return report


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--seconds", type=float, default=10, metavar="N")
    args = parser.parse_args(argv)
    show(trio.run(measure, args.seconds), as_json=args.json)


if __name__ == "__main__":
    main()
