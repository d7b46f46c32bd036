"""How fast output is drained: `python -m benchmarks.stream [--mib N] [--json]`.

A program in the sandbox writes through its stdout; everything beyond the output limit is counted
and discarded. Beside it, in turn, the same program by hand, its output read and thrown away.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence

import trio

from benchmarks.report import Report, Row, argument_parser, opened, show, summary
from executor import LocalEngine, Request

READ_BYTES = 256 * 1024
PROGRAM = "head -c {} /dev/zero"


def resident_bytes() -> int:
    """What this process holds in memory now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


async def through_sandbox(executor: LocalEngine, size: int) -> tuple[float, int]:
    """Seconds, and by how much this process grew at most."""
    before = peak = resident_bytes()

    async def watch() -> None:
        nonlocal peak
        while True:
            peak = max(peak, resident_bytes())
            await trio.sleep(0.02)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        started = time.perf_counter()
        request = Request("shell", PROGRAM.format(size), drain=True)
        completed = await executor.run(request)
        took = time.perf_counter() - started
        nursery.cancel_scope.cancel()
    if completed.result.stdout.bytes_total != size:
        raise RuntimeError(f"{completed.result.stdout.bytes_total} of {size} bytes came")
    if completed.stdout_spool:
        completed.stdout_spool.delete()
    return took, peak - before


def by_hand(size: int) -> float:
    """Seconds that the same program takes into a pipe that is only read."""
    started = time.perf_counter()
    with subprocess.Popen(["sh", "-c", PROGRAM.format(size)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while os.read(process.stdout.fileno(), READ_BYTES):
            pass
    return time.perf_counter() - started


async def measure(mib: int, rounds: int) -> Report:
    size = mib << 20
    report = Report("stream")
    async with opened() as executor:
        await executor.run(Request("shell", "true"))
        took, grown, hand = [], [], []
        for _ in range(rounds):
            seconds, growth = await through_sandbox(executor, size)
            took.append(seconds)
            grown.append(growth)
            hand.append(by_hand(size))
    ours, bare = summary(took), summary(hand)
    report.add(Row("drained", ours, bare))
    report.figures = {
        "megabytes_per_s": size / 1e6 / (ours.median_ms / 1000),
        "by_hand_megabytes_per_s": size / 1e6 / (bare.median_ms / 1000),
        "resident_growth_mib": max(grown) / (1 << 20),
    }
    report.notes = (f"{mib} MiB through stdout, {rounds} rounds, beside a pipe that is only read",)
    return report


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--mib", type=int, default=1024, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    args = parser.parse_args(argv)
    show(trio.run(measure, args.mib, args.rounds), as_json=args.json)


if __name__ == "__main__":
    main()
