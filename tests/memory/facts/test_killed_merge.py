"""A merge that is killed at any statement was done wholly, or not at all (X7)."""

from __future__ import annotations

from memory.facts.branching import create_branch, list_branches
from tests.memory.facts.branch_makers import ME, live_and_replay, open_facts, put, texts
from tests.memory.facts.killing import KILLED, run_script

PATHS = [f"/memory/x/{name}" for name in "ab"]
_SCRIPT = """
import sys
from memory.facts.branching import merge_branch
from tests.memory.facts.branch_makers import ME, open_facts
from tests.memory.facts.killing import kill_at
with open_facts(sys.argv[1]) as store:
    kill_at(store, int(sys.argv[2]))
    merge_branch(store, "b", author=ME)
"""


def test_x7_a_merge_killed_at_each_statement_is_whole_or_not_begun(tmp_path):
    outcomes = set()
    step = 0
    while True:
        step += 3
        file = tmp_path / f"{step}.sqlite3"
        with open_facts(file) as store:
            put(store, PATHS[0], "old")
            create_branch(store, "b", author=ME)
            for path in PATHS:
                put(store, path, "new", "b")
        ended = run_script(_SCRIPT, str(file), str(step))
        with open_facts(file) as store:
            is_merged = list_branches(store)[1].state == "merged"
            expected = dict.fromkeys(PATHS, "new") if is_merged else {PATHS[0]: "old"}
            assert texts(store) == expected
            live, replay = live_and_replay(store)
            assert live == replay
        outcomes.add((ended, is_merged))
        if ended == 0:
            break
        assert ended == KILLED
    assert outcomes >= {(KILLED, False), (0, True)}
    assert step > 30
