"""Readers of a journal for tests."""

from __future__ import annotations

from collections.abc import Mapping

from fleet.journal import Journal


async def read_outcome(journal: Journal, run: str) -> bytes | None:
    """The outcome of a run that is done; None for any other."""
    rows = await journal._read("SELECT outcome FROM run WHERE id = ?", run)
    return rows[0][0] if rows else None


async def count(journal: Journal) -> Mapping[tuple[str, str], int]:
    """Count the runs of each owner in each state."""
    rows = await journal._read("SELECT owner, state, count(*) FROM run GROUP BY owner, state")
    return {(owner, state): n for owner, state, n in rows}
