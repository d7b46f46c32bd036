"""A restore that is killed at any line, or meets writers, loses nothing that stood (X13)."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from memory.facts.restoring import (
    check_store,
    describe_snapshots,
    find_last_sound,
    find_snapshot,
    restore,
)
from memory.facts.writing import remember
from tests.memory.facts.damages import overwrite_middle
from tests.memory.facts.stores import ADA, Clock, draft, open_facts
from tests.memory.facts.stores import standing as stands

ROOT = Path(__file__).parents[3]
DAY = 86_400
_KILLED = """
import os, signal, sys
from memory.facts import restoring
path, left = sys.argv[1], int(sys.argv[2])
def count(frame, event, given):
    global left
    if frame.f_code.co_filename != restoring.__file__:
        return None
    left -= event == "line"
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return count
chosen, _ = restoring.find_last_sound(path)
sys.settrace(count)
restoring.restore(path, chosen)
"""
_WRITER = """
import sys
from pathlib import Path
from memory.facts.writing import remember
from tests.memory.facts.stores import ADA, draft, open_facts
for number in range(int(sys.argv[3])):
    with open_facts(Path(sys.argv[1])) as store:
        print(remember(store, draft(f"{sys.argv[2]} {number}"), ADA).id, flush=True)
"""


def run(script, *words):
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def make(folder):
    """Make a file of two facts, of which a snapshot has the first."""
    clock = Clock()
    with open_facts(folder, clock) as store:
        remember(store, draft("the first fact", key="a"), ADA)
        clock.now += DAY
        remember(store, draft("the second fact", key="b"), ADA)
    return folder / "memory.sqlite3"


def test_x13_a_restore_that_is_killed_is_whole_or_not_begun(tmp_path, is_long):
    outcomes = set()
    for is_damaged in (False, True):
        step = 0
        while True:
            step += 1 if is_long else 41
            path = make(tmp_path / f"{step}-{is_damaged}")
            if is_damaged:
                overwrite_middle(path)
            killed = run(_KILLED, path, step)
            killed.communicate(timeout=60)
            ended = killed.returncode
            with open_facts(path.parent) as store:
                count, was_read_past = len(stands(store)), store.notices != ()
                assert check_store(store) == store.notices
            assert count == 1 or not (is_damaged or was_read_past)
            outcomes.add((ended, is_damaged, count, was_read_past))
            # Whatever it left, the next one does all.
            restore(path, find_last_sound(path)[0])
            with open_facts(path.parent) as store:
                assert ([fact.text for fact in stands(store)], store.notices) == (
                    ["the first fact"],
                    (),
                )
            assert not [*path.parent.rglob("*.unfinished*"), *path.parent.rglob("*.restoring")]
            if ended == 0:
                break
            assert ended == -signal.SIGKILL
    assert outcomes >= {
        (-signal.SIGKILL, False, 2, False),
        (-signal.SIGKILL, True, 1, True),
        (0, False, 1, False),
        (0, True, 1, False),
    }


def test_x13_what_others_write_meanwhile_stands_or_is_in_the_file_that_is_kept(tmp_path, is_long):
    path = make(tmp_path)
    writers = [run(_WRITER, tmp_path, name, 40 if is_long else 8) for name in "abc"]
    names: set[str] = set()
    try:
        while any(writer.poll() is None for writer in writers):
            restored = restore(path, find_last_sound(path)[0])
            assert restored.is_readable
            names |= read_ids(path, find_snapshot(path, restored.replaced).path)
    except BaseException:
        for writer in writers:
            writer.kill()
            writer.communicate()
        raise
    said = [writer.communicate(timeout=60)[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    with open_facts(tmp_path) as store:
        names |= {fact.id for fact in stands(store)}
        assert check_store(store) == ()
    assert {one for ids in said for one in ids} - names == set()
    assert not [one.problem for one in describe_snapshots(path) if one.problem]


def read_ids(path, copy):
    own = path.parent / "read" / path.name
    own.parent.mkdir(exist_ok=True)
    own.write_bytes(Path(copy).read_bytes())
    with open_facts(own.parent) as store:
        return {fact.id for fact in stands(store)}
