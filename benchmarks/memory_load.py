"""Whether facts bear many processes, and processes that die.

    python -m benchmarks.memory_load [--seconds N] [--kills N]

First 8 processes write and 4 read one file for so many seconds: no call may fail. Then writers are
killed with SIGKILL at so many random moments. After each part nothing that was acknowledged may be
missing, and what is live must be what a replay of the ledger gives. Exits with 1 where it is not.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from memory.facts.checking import check_store
from memory.facts.reading import read_changes, read_facts
from memory.facts.store import FactStore

WRITERS = 8
READERS = 4
_GRACE_S = 600

# Each acknowledged write is printed: what is killed after that may not be lost.
WRITER = """
import sys, time
from pathlib import Path
from memory.facts.model import Author, Draft
from memory.facts.store import FactStore
from memory.facts.writing import forget, pin, remember
path, name, seconds, count = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
end, slowest, n, author = time.monotonic() + seconds, 0.0, 0, Author(name, name)
with FactStore(path, find_secrets=lambda _: ()) as store:
    while n < count and time.monotonic() < end:
        started = time.monotonic()
        text = f"{name} number{n} deploys the service at {n % 24} hours " * (1 + n % 9)
        written = remember(store, Draft(text, key=f"{name}-{n}"), author)
        remember(store, Draft(f"version {n} of {name}", key="shared"), author)
        print(written.id, "+", flush=True)
        if n % 5 == 1:
            pin(store, written.id, author)
        if n % 5 == 2:
            forget(store, written.id, author)
            print(written.id, "-", flush=True)
        slowest = max(slowest, time.monotonic() - started)
        n += 1
print("slowest", f"{slowest:.3f}", flush=True)
"""
READER = """
import sys, time
from memory.facts.recalling import RecallRequest, recall
from memory.facts.store import FactStore
end, count, n = time.monotonic() + float(sys.argv[3]), int(sys.argv[4]), 0
with FactStore(sys.argv[1], find_secrets=lambda _: ()) as store:
    while n < count and time.monotonic() < end:
        found = recall([store], RecallRequest(f"service number{n % 50} hours"))
        assert found.tokens <= 1500
        n += 1
print(n)
"""


def start(
    program: str, path: Path, name: str, seconds: float, count: int = 1 << 30
) -> subprocess.Popen[str]:
    """Start a writer or a reader."""
    return subprocess.Popen(
        [sys.executable, "-c", program, str(path), name, str(seconds), str(count)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def find_problems(path: Path, lines: list[str]) -> list[str]:
    """List what is wrong with a file that acknowledged these lines."""
    said = [line.split() for line in lines if line[-1:] in "+-"]
    with FactStore(path, find_secrets=lambda _: ()) as store:
        with store.database.reading() as db:
            live = {fact.id for fact in read_facts(db, now=store.clock())}
            written = {change.fact_id for change in read_changes(db)}
        problems = [*check_store(store), *store.notices]
    gone = {name for name, sign in said if sign == "-"}
    lost = {name for name, sign in said if sign == "+"} - written
    back = gone & live
    return [
        *problems,
        *(f"{name} was acknowledged and is lost" for name in sorted(lost)),
        *(f"{name} was retracted and stands" for name in sorted(back)),
    ]


def run_together(path: Path, seconds: float, count: int = 1 << 30) -> list[str]:
    """Write and read with many processes at once; return what went wrong."""
    writers = [start(WRITER, path, f"w{n}", seconds, count) for n in range(WRITERS)]
    readers = [start(READER, path, "", seconds, count) for _ in range(READERS)]
    lines: list[str] = []
    problems: list[str] = []
    slowest, recalls = 0.0, 0
    for process in (*writers, *readers):
        output, errors = process.communicate(timeout=seconds + _GRACE_S)
        if process.returncode:
            problems.append(errors)
            continue
        *own, last = output.splitlines()
        lines += own
        if process in writers:
            slowest = max(slowest, float(last.split()[1]))
        else:
            recalls += int(last)
    problems += find_problems(path, lines)
    print(
        f"{seconds:.0f} s: {sum(line.endswith('+') for line in lines)} facts and as many versions"
        f" of a shared one by {WRITERS} writers, {recalls} recalls by {READERS} readers; slowest"
        f" round of writes {slowest:.2f} s; {len(problems)} problems",
        flush=True,
    )
    return problems


def kill_writers(path: Path, kills: int) -> list[str]:
    """Kill writers at random moments; return what went wrong."""
    chance = random.Random(11)
    lines: list[str] = []
    problems: list[str] = []
    for number in range(kills):
        writer = start(WRITER, path, f"k{number}", 3600)
        assert writer.stdout is not None
        # After so many lines, within whichever call comes then: the pipe's reader is not in step.
        for _ in range(chance.randrange(1, 6)):
            lines.append(writer.stdout.readline().strip())
        writer.send_signal(signal.SIGKILL)
        rest, _ = writer.communicate(timeout=_GRACE_S)
        lines += [line for line in rest.splitlines() if line[-1:] in "+-"]
        problems += find_problems(path, lines)
    print(
        f"{kills} writers killed, {sum(line.endswith('+') for line in lines)} facts acknowledged,"
        f" {len(problems)} problems",
        flush=True,
    )
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kills", type=int, default=100)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memory-load-") as folder:
        path = Path(folder) / "memory.sqlite3"
        problems = [*run_together(path, asked.seconds), *kill_writers(path, asked.kills)]
    for problem in problems:
        print(problem)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
