"""Readers of a journal for tests."""

from __future__ import annotations

from collections.abc import Mapping

from fleet.journal import Journal


async def list_done(journal: Journal) -> set[str]:
    """List the runs that are done."""
    return {run for (run,) in await journal._read("SELECT id FROM run WHERE state = 'done'")}


async def count(journal: Journal) -> Mapping[tuple[str, str], int]:
    """Count the runs of each owner in each state."""
    rows = await journal._read("SELECT owner, state, count(*) FROM run GROUP BY owner, state")
    return {(owner, state): n for owner, state, n in rows}
