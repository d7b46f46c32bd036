"""What is left to do behind additions, in steps so short that neither answers nor searches wait."""

from __future__ import annotations

from contextlib import suppress

from kb import eviction, reading, writing
from kb.access import Access
from kb.errors import StoreError


def step(access: Access, limit_bytes: int) -> bool:
    """Index some of what is queued, and drop some of what exceeds the quota; else move some of what
    was superseded. False where nothing was left to do.

    Raises:
        StoreError: what is queued, or was superseded, could not be stored.
    """
    from kb import indexing  # noqa: PLC0415 - what cuts documents into chunks

    if access.read_only:
        return False
    indexing.index_queued(access, limit_bytes)
    with access.reading() as db:
        more = not reading.progress(db, None).complete
    with suppress(StoreError):  # which must not keep what is queued from being indexed
        more = eviction.step(access) or more
    return more or _move_superseded(access)


def _move_superseded(access: Access) -> bool:
    with access.reading() as db:
        if not reading.any_unmoved(db):
            return False
    with access.writing() as db:
        return writing.move_superseded(db)
