"""What isolation costs: `python -m benchmarks.isolation [--rounds N] [--json]`.

A shell that says one word in our cells, cold and where something waited for it, beside Debian's
bubblewrap with the same mounts and fewer layers, and by itself; all in turn. Ours are timed from
the request to its result, the others from the start of the process until it is reaped and read.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import trio

from benchmarks.bubblewrap import MISSING, command
from benchmarks.execute import something_waits
from benchmarks.report import Report, Row, argument_parser, show, summary
from executor import LocalEngine, Request, Settings, open_engine

SHELL = ("/bin/bash", "-c", "echo word")
REQUEST = Request("shell", "echo word")
WARM_UP_ROUNDS = 3
COLD_RATIO_MAX = 1.6


def by_hand(argv: Sequence[str]) -> float:
    """Seconds that a command takes."""
    started = time.perf_counter()
    done = subprocess.run(argv, capture_output=True, check=True)
    took = time.perf_counter() - started
    if done.stdout != b"word\n":
        raise RuntimeError(f"{argv[0]} printed {done.stdout!r}")
    return took


async def by_us(executor: LocalEngine) -> float:
    """Seconds from the request to its result."""
    started = time.perf_counter()
    result = (await executor.run(REQUEST)).result
    took = time.perf_counter() - started
    if result.stdout.text != "word\n":
        raise RuntimeError(f"{result.status} {result.message}")
    return took


async def measure(rounds: int) -> Report:
    """All sides that can be measured here."""
    samples: dict[str, list[float]] = {"bare": [], "bubblewrap": [], "cold": [], "warm": []}
    with tempfile.TemporaryDirectory() as project, tempfile.TemporaryDirectory() as state:
        os.chmod(project, 0o755)
        boxed = command(Path(project), SHELL)
        opened = partial(
            open_engine,
            project=Path(project),
            state_dir=Path(state),
            rules=None,
            home=Path.home(),
        )
        async with opened(settings=Settings(prewarm=False)) as cold, opened() as warm:
            for _ in range(WARM_UP_ROUNDS + rounds):
                samples["bare"].append(by_hand(SHELL))
                if boxed:
                    samples["bubblewrap"].append(by_hand(boxed))
                samples["cold"].append(await by_us(cold))
                await something_waits(warm)
                samples["warm"].append(await by_us(warm))
    counted = {name: took[WARM_UP_ROUNDS:] for name, took in samples.items() if took}
    sides = {name: summary(took) for name, took in counted.items()}
    report = Report("isolation")
    report.add(Row("bash by hand", sides["bare"]))
    boxes = sides.get("bubblewrap")
    report.add(Row("cold, beside bubblewrap", sides["cold"], boxes, COLD_RATIO_MAX))
    report.add(Row("warm, beside bubblewrap", sides["warm"], boxes))
    report.figures = {f"least of {name}, ms": min(took) * 1000 for name, took in counted.items()}
    report.notes = (f"{rounds} rounds, all in turn", *(() if boxed else (MISSING,)))
    return report


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--rounds", type=int, default=60, metavar="N")
    args = parser.parse_args(argv)
    show(trio.run(measure, args.rounds), as_json=args.json)


if __name__ == "__main__":
    main()
