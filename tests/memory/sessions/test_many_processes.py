"""Many processes write one store beside an import, and some are killed: nothing is lost (R1)."""

from __future__ import annotations

from tests.many_processes import EVENTS, kill_writers, run_together

WRITERS = 6


def test_r1_writers_beside_an_import_lose_nothing_that_was_acknowledged(tmp_path, is_long):
    count = 500 if is_long else 60
    done = run_together(
        EVENTS, tmp_path / "s.sqlite3", 300, count, writers=WRITERS, readers=1, reads=3
    )
    assert (done.acknowledged, done.problems) == (WRITERS * count, [])


def test_r1_killed_writers_beside_others_and_an_import_lose_nothing(tmp_path, is_long):
    kills = 20 if is_long else 6
    done = kill_writers(EVENTS, tmp_path / "s.sqlite3", kills, writers=WRITERS, readers=1, count=10)
    assert done.problems == []
    assert done.acknowledged >= kills * (WRITERS - 1) * 10
