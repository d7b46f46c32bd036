"""Fifty one-line commands in one batch: `python -m benchmarks.batch [--rounds N] [--json]`.

Beside it, in turn, the same commands by hand, as many at once as there are processors.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import trio

from benchmarks.report import Report, Row, argument_parser, show, summary
from ctxmode.app import App, open_app
from ctxmode.config.locations import Config
from ctxmode.operations.batch import BatchCommand, BatchRequest, run_batch

COMMANDS = [f"echo line {number}" for number in range(50)]


async def in_batch(app: App) -> float:
    """Seconds from the request to all the answers."""
    commands = tuple(BatchCommand(f"c{n}", text) for n, text in enumerate(COMMANDS))
    started = time.perf_counter()
    answer = await run_batch(app, BatchRequest(commands))
    took = time.perf_counter() - started
    if not answer.ok:
        raise RuntimeError("a command of the batch failed")
    return took


def by_hand() -> float:
    started = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(_shell, COMMANDS))
    return time.perf_counter() - started


def _shell(command: str) -> None:
    subprocess.run(["bash", "-c", command], stdout=subprocess.DEVNULL, check=True)


async def measure(rounds: int) -> Report:
    report = Report("batch")
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        project = Path(folder, "project")
        project.mkdir()
        async with open_app(Config(project, Path.home(), Path(folder, "data"))) as app:
            await in_batch(app)  # probes, and what waits for its use
            samples = []
            for _ in range(rounds):
                await trio.sleep(0.5)  # as between two calls of an agent: what waits is refilled
                samples.append((await in_batch(app), by_hand()))
    ours, bare = zip(*samples, strict=True)
    report.add(Row("50 shell commands", summary(ours), summary(bare)))
    report.notes = (f"{rounds} batches, in turn with bash by hand, two at once",)
    return report


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--rounds", type=int, default=10, metavar="N")
    args = parser.parse_args(argv)
    show(trio.run(measure, args.rounds), as_json=args.json)


if __name__ == "__main__":
    main()
