"""Many processes write one store at once, and some are killed: nothing acknowledged is lost."""

from __future__ import annotations

from tests.many_processes import SOURCES, kill_writers, run_together


def test_eight_writers_and_four_readers_lose_nothing(tmp_path, is_long):
    count = 200 if is_long else 3
    assert run_together(SOURCES, tmp_path / "kb.db", 120, count).problems == []


def test_what_was_acknowledged_survives_killed_writers(tmp_path, is_long):
    assert kill_writers(SOURCES, tmp_path / "kb.db", 100 if is_long else 3).problems == []
