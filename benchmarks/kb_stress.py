"""Whether the store bears many processes, and processes that die, for long.

    python -m benchmarks.kb_stress [--seconds N] [--kills N]

First 8 processes write and 4 read one file for so many seconds: no call may fail, and nothing that
was acknowledged may be missing. Then a writer is killed with SIGKILL at so many random moments:
the file must be sound, and hold what was acknowledged. Exits with 1 where that is not so.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kb import Store

WRITERS = 8
READERS = 4
_GRACE_S = 600

WRITER = """
import sys, time
from pathlib import Path
from kb import SourceSpec, Store
path, name, seconds = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
end, slowest, n = time.monotonic() + seconds, 0.0, 0
with Store.open(path) as store:
    while time.monotonic() < end:
        started = time.monotonic()
        text = f"common text number{n} of writer{name}\\n".encode() * (1 + n * 7 % 400)
        added = store.add(SourceSpec(f"{name} {n}"), text)
        store.add(SourceSpec("shared"), f"version {n} by writer{name}".encode())
        slowest = max(slowest, time.monotonic() - started)
        print(added.source_id, flush=True)
        n += 1
print(f"slowest {slowest:.2f}", flush=True)
"""
READER = """
import sys, time
from pathlib import Path
from kb import Store
end, n = time.monotonic() + float(sys.argv[3]), 0
with Store.open(Path(sys.argv[1])) as store:
    while time.monotonic() < end:
        (result,) = store.search(f"common number{n % 50}")
        for hit in result.hits:
            assert store.text(hit.source_id, hit.start_byte, hit.end_byte).decode() == hit.text
        n += 1
print(n)
"""


def start(program: str, path: Path, name: str, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(path), name, str(seconds)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def missing(path: Path, acknowledged: set[int]) -> list[str]:
    """What is wrong with the store: its problems, and what of the acknowledged it lacks."""
    with Store.open(path) as store:
        kept = {source.id for source in store.sources(include_superseded=True) if source.complete}
        problems = list(store.check().problems) + list(store.notices)
    return [*problems, *(f"source {lost} is gone" for lost in sorted(acknowledged - kept))]


def many_processes(path: Path, seconds: float) -> list[str]:
    writers = [start(WRITER, path, f"w{n}", seconds) for n in range(WRITERS)]
    readers = [start(READER, path, "", seconds) for _ in range(READERS)]
    acknowledged: set[int] = set()
    problems: list[str] = []
    slowest, searches = 0.0, 0
    for process in (*writers, *readers):
        output, errors = process.communicate(timeout=seconds + _GRACE_S)
        if process.returncode:
            problems.append(errors)
            continue
        *ids, last = output.split("\n")[:-1]
        acknowledged.update(map(int, ids))
        if process in writers:
            slowest = max(slowest, float(last.split()[1]))
        else:
            searches += int(last)
    problems += missing(path, acknowledged)
    print(
        f"{seconds:.0f} s: {len(acknowledged)} sources and as many versions of a shared one by"
        f" {WRITERS} writers, {searches} searches by {READERS} readers; slowest pair of additions"
        f" {slowest:.2f} s; {len(problems)} problems",
        flush=True,
    )
    return problems


def killed_writers(path: Path, kills: int) -> list[str]:
    chance = random.Random(11)
    acknowledged: set[int] = set()
    problems: list[str] = []
    for number in range(kills):
        writer = start(WRITER, path, f"k{number}", 3600)
        assert writer.stdout is not None
        for _ in range(chance.randrange(1, 20)):
            acknowledged.add(int(writer.stdout.readline()))
        time.sleep(chance.random() * 0.02)
        writer.send_signal(signal.SIGKILL)
        rest, _ = writer.communicate(timeout=_GRACE_S)
        acknowledged.update(int(line) for line in rest.split("\n")[:-1])
        problems += missing(path, acknowledged)
    print(
        f"{kills} writers killed, {len(acknowledged)} sources acknowledged,"
        f" {len(problems)} problems",
        flush=True,
    )
    return problems


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--kills", type=int, default=100)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        problems = many_processes(Path(place) / "many.db", given.seconds)
        problems += killed_writers(Path(place) / "killed.db", given.kills)
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
