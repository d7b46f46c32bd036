"""Many processes write one file at once, and some are killed: nothing acknowledged is lost."""

from __future__ import annotations

from tests.many_processes import FACTS, kill_writers, run_together


def test_eight_writers_and_four_readers_lose_nothing(tmp_path, is_long):
    count = 200 if is_long else 4
    assert run_together(FACTS, tmp_path / "memory.sqlite3", 120, count).problems == []


def test_what_was_acknowledged_survives_killed_writers(tmp_path, is_long):
    assert kill_writers(FACTS, tmp_path / "memory.sqlite3", 100 if is_long else 4).problems == []
