"""A front killed at any moment, in the middle of a commit too, loses nothing it acknowledged.

A killed process loses what only itself knew, not what the kernel has: that each commit is synced is
`test_what_is_acknowledged_was_synced`.
"""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import trio

from fleet.journal import Journal
from tests.fleet.journals import count, list_done

KILLED = -signal.SIGKILL

# Tasks take runs through their states; each line says what was acknowledged, and goes out at once.
# At the commit of a number it is killed, so many microseconds after it began.
FRONT = """
import os, signal, sys, threading, time
import trio
from contextlib import closing
from fleet.journal import Journal
path, front, tasks, commit, later_us = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
begun = threading.Event()

def kill():
    begun.wait()
    time.sleep(later_us / 1e6)
    os.kill(os.getpid(), signal.SIGKILL)

def count(statement):
    global commit
    if statement == "COMMIT":
        commit -= 1
        if not commit and not later_us:
            os.kill(os.getpid(), signal.SIGKILL)
        if not commit:
            begun.set()

def say(*words):
    os.write(1, (" ".join(words) + "\\n").encode())

async def take(journal, task):
    number = 0
    while True:
        run = f"{front}-{task}-{number}"
        say("asked", run)
        await journal.accept(run, "alice", run.encode() * 50, 1 << 30)
        say("accepted", run)
        if number % 3:
            await journal.note_sent(run)
            say("sent", run)
        if number % 3 == 2:
            if await journal.finish(run):
                say("done", run)
        number += 1

async def main():
    with closing(Journal(Path(path), front)) as journal:
        journal._db.set_trace_callback(count)
        async with trio.open_nursery() as nursery:
            for task in range(tasks):
                nursery.start_soon(take, journal, task)

from pathlib import Path
threading.Thread(target=kill, daemon=True).start()
trio.run(main)
"""


def run_front(path: Path, front: str, tasks: int, commit: int, later_us: int) -> list[list[str]]:
    """Run a front until it is killed; what it said before."""
    ended = subprocess.run(
        [sys.executable, "-c", FRONT, path, front, str(tasks), str(commit), str(later_us)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        timeout=60,
        check=False,
        text=True,
    )
    assert ended.returncode == KILLED
    return [line.split() for line in ended.stdout.splitlines()]


async def lost(path: Path, front: str, said: list[list[str]]) -> list[list[str]]:
    """What a dead front acknowledged and the next one does not find."""
    with closing(Journal(path, f"after-{front}")) as journal:
        left = await journal.adopt(lambda _: False)
        done = await list_done(journal)
        missing = []
        for what, run in said:
            is_there = {
                "asked": True,
                "accepted": run in left or run in done,
                "sent": run in done or left.get(run),
                "done": run in done,
            }[what]
            if not is_there:
                missing.append([what, run])
        asked = {run for what, run in said if what == "asked"}
        mine = {run for run in left if run.startswith(f"{front}-")}
        assert mine <= asked
        for run in mine:
            assert await journal.read_order(run) == run.encode() * 50
        async with trio.open_nursery() as nursery:  # the next round begins with nothing left
            for run in left:
                nursery.start_soon(journal.finish, run)
        assert (await count(journal)).keys() <= {("alice", "done")}
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return missing


@pytest.mark.parametrize("tasks", [1, 40])
async def test_nothing_acknowledged_is_lost_at_any_moment_of_a_commit(tmp_path, tasks, is_long):
    path, chance = tmp_path / "journal.sqlite3", random.Random(tasks)
    acknowledged = 0
    for number in range(100 if is_long else 5):
        later_us = chance.choice((0, chance.randrange(300), chance.randrange(300, 5_000)))
        said = run_front(path, f"f{number}", tasks, chance.randrange(2, 12), later_us)
        assert await lost(path, f"f{number}", said) == []
        acknowledged += sum(what != "asked" for what, _ in said)
    assert acknowledged >= 5


async def test_a_killed_front_leaves_others_their_runs(tmp_path):
    path = tmp_path / "journal.sqlite3"
    with closing(Journal(path, "living")) as journal:
        said = run_front(path, "dead", 4, 6, 0)
        left = await journal.adopt(lambda front: front == "living")
        assert left.keys() >= {run for what, run in said if what == "accepted"} - {
            run for what, run in said if what == "done"
        }
    assert await lost(path, "dead", said) == []


async def test_what_was_not_kept_would_be_noticed(tmp_path):
    said = run_front(path := tmp_path / "journal.sqlite3", "f", 1, 5, 0)
    false = [[what, "f-0-999"] for what in ("accepted", "sent", "done")]
    assert await lost(path, "f", said + false) == false
