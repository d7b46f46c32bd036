"""How much memory it takes to index what is larger than memory should bear.

    python -m benchmarks.kb_large [--log MB] [--json MB]

By default a log of 2 GB and JSON of 500 MB on one line, made here, indexed through the queue as
the output of a run is, and removed. Takes minutes, and three times their size on disk.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from kb import Store
from kb.model import SourceSpec

_BATCH = 5000


def log_lines() -> Iterator[str]:
    for n in count():
        yield f"2024-05-01 10:{n // 60 % 60:02d}:{n % 60:02d} INFO worker {n % 17} finished job {n}"
        if n % 997 == 0:
            yield "Traceback (most recent call last):"
            yield f'  File "job.py", line {n % 90}, in run'
            yield f"ValueError: job {n} has no input"


def json_records() -> Iterator[str]:
    for n in count():
        tags = ", ".join(f'"tag{n % k}"' for k in range(2, 9))
        yield (
            f'{{"id": {n}, "name": "record {n}", "tags": [{tags}], "owner": {{"name": "user'
            f' {n % 1000}", "address": {{"city": "city {n % 77}", "lines": [{n}, {n + 1}]}}}}}}'
        )


def write(path: Path, size: int, parts: Iterator[str], ends: tuple[str, str, str]) -> None:
    """`size` bytes or a little more: what stands before all, between two, and after all."""
    before, between, after = ends
    with path.open("w") as stream:
        stream.write(before + next(parts))
        while stream.tell() < size:
            stream.write("".join(between + next(parts) for _ in range(_BATCH)))
        stream.write(after)


MATERIAL: dict[str, Callable[[Path, int], None]] = {
    "log": lambda path, size: write(path, size, log_lines(), ("", "\n", "\n")),
    "json": lambda path, size: write(path, size, json_records(), ('{"records": [', ", ", "]}")),
}


def index(spool: Path, kind: str) -> None:
    """Index and report; run in a process of its own, whose peak of memory then is that of this."""
    size = spool.stat().st_size
    with Store.open(spool.with_name(f"{kind}.db")) as store:
        started, used = time.perf_counter(), time.process_time()
        store.add_spool(SourceSpec(kind, origin="run", kind=kind), spool)
        first = time.perf_counter() - started
        while not store.index_pending().complete:
            pass
        cpu = time.process_time() - used
        stats = store.stats()
    print(
        f"{size / 1e6:.0f} MB of {kind}, {stats.chunks} chunks: searchable after {first:.1f} s,"
        f" whole after {time.perf_counter() - started:.0f} s, {size / cpu / 1e6:.1f} MB a second of"
        f" processor time; peak memory {peak_megabytes():.0f} MB, load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def peak_megabytes() -> float:
    """The largest resident set of this process since its program was started."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--log", type=int, default=2000, metavar="MB")
    arguments.add_argument("--json", type=int, default=500, metavar="MB")
    arguments.add_argument("--index", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.index:
        index(Path(given.index[0]), given.index[1])
        return
    for kind, megabytes in (("log", given.log), ("json", given.json)):
        if megabytes:
            with tempfile.TemporaryDirectory() as place:
                spool = Path(place) / kind
                MATERIAL[kind](spool, megabytes * 1_000_000)
                program = [sys.executable, "-m", "benchmarks.kb_large", "--index", str(spool), kind]
                subprocess.run(program, check=True)


if __name__ == "__main__":
    main()
