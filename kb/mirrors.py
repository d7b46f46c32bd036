"""Copies in the store of data from elsewhere, such as facts: how far each original was followed,
and the one way in which its sources are added, changed and removed."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from kb import purging
from kb.model import SourceSpec
from kb.store import Store
from kb.writing import storable_text

WAIT_S = 0.25
"""The time that a mirror waits for another writer."""

TRIES = 5
"""The number of attempts to read an original that other processes mirror at the same time."""

Version: TypeAlias = tuple[SourceSpec, bytes]
"""A text of a label: its description and the bytes."""


Mirrored: TypeAlias = tuple[str, str, tuple[Version, ...]]
"""A label, its origin, and all versions in the original, the oldest first. Without any, the label
is removed."""

_There: TypeAlias = tuple[tuple[int, bytes], ...]
"""The versions of a label in the store, by id and digest."""

_Plan: TypeAlias = tuple[_There, tuple[int, ...], tuple[Version, ...]]
"""A plan for a label: its versions in the store, those to remove, and new ones."""


def read_marks(store: Store) -> Mapping[str, str]:
    """Read how far each mirror has followed its original, by name; empty has all compared."""
    with store.access.reading() as db:
        return dict(db.execute("SELECT name, upto FROM mirror").fetchall())


def forget_marks(store: Store, *, besides: str = "") -> None:
    """Make the mirrors compare everything again, except the one named in `besides`."""
    with store.access.writing() as db:
        db.execute("UPDATE mirror SET upto = '' WHERE name != ?", (besides,))


def read_digests(store: Store, origin: str, beginning: str) -> Mapping[str, bytes]:
    """Read the digest of the newest version of each label of an origin that begins so."""
    with store.access.reading() as db:
        rows = db.execute(
            "SELECT label, sha256 FROM source WHERE origin = ? AND superseded_by IS NULL"
            " AND substr(label, 1, length(?)) = ?",
            (origin, beginning, beginning),
        )
        return dict(rows.fetchall())


def text_digest(data: bytes) -> bytes:
    """Return the digest by which a text is known to be there."""
    return hashlib.sha256(data).digest()


def follow(  # noqa: PLR0913 - how a step is taken
    store: Store,
    name: str,
    wanted: Sequence[Mirrored],
    *,
    seen: str,
    mark: str | None = None,
    wait_s: float = WAIT_S,
) -> int | None:
    """Make some labels equal to the original, and with a `mark` note how far that is: all in one
    transaction. `seen` is the mark before the original was read.

    Returns how many versions were removed; None if another process was faster: nothing was done,
    and the original must be read again.

    Raises:
        StoreError: nothing was done.
    """
    from kb import eviction, indexing  # noqa: PLC0415 - not loaded if nothing is new

    access = store.access
    with access.reading() as db:
        plans = [_plan(db, one) for one in wanted]
    new = [version for _, _, versions in plans for version in versions]
    if new:
        eviction.admit(access, sum(len(data) for _, data in new))
    prepared = [indexing.prepare(access, *version) for version in new]
    gone = [source_id for _, going, _ in plans for source_id in going]
    with access.writing(wait_s=wait_s) as db:
        is_first = _read_mark(db, name) == seen
        pairs = zip(wanted, plans, strict=True)
        if not is_first or any(_read_there(db, one) != there for one, (there, *_) in pairs):
            return None
        if gone:
            purging.purge(db, gone)
            access.known_words.clear()
        indexing.store(access, db, prepared)
        for one in wanted:
            _update_newest(db, one)
        # Without a new mark the old one stays; a row notes that there may be something to remove.
        upto = seen if mark is None else mark
        db.execute("INSERT OR REPLACE INTO mirror (name, upto) VALUES (?, ?)", (name, upto))
    return len(gone)


def follow_in_turn(store: Store, name: str, seen: str, attempt: Callable[[str], int | None]) -> int:
    """Follow an original from the mark `seen`, again if another process was faster. Return how much
    is left."""
    for _ in range(TRIES):
        left = attempt(seen)
        if left is not None:
            return left
        seen = read_marks(store).get(name, "")
    return 1


def follow_in_batches(  # noqa: PLR0913 - what is compared, and how far it goes
    store: Store,
    name: str,
    gone: Sequence[Mirrored],
    paths: Sequence[str],
    list_wanted: Callable[[Sequence[str]], Sequence[Mirrored]],
    *,
    size: int,
    seen: str,
    mark: str,
    deadline: float,
    is_compacted: bool = True,
) -> int | None:
    """Remove what is gone, then make the labels of `paths` equal to the original, a batch at a
    time, until all are done or the clock passes `deadline`.

    Returns how many paths are left; if none are, the mark is set. None as `follow` does. With
    `is_compacted` no part of the removed text stays in the file.
    """
    went = follow(store, name, gone, seen=seen)
    left = len(paths)
    for begin in range(0, len(paths), size):
        more = follow(store, name, list_wanted(paths[begin : begin + size]), seen=seen)
        if went is None or more is None:
            return None
        went += more
        left = max(left - size, 0)
        if time.monotonic() >= deadline:
            break
    if went and is_compacted:
        with store.access.exclusively() as db:  # if other processes permit it
            purging.compact(db)
    if not left and follow(store, name, (), seen=seen, mark=mark) is None:
        return None
    return left


def _plan(db: sqlite3.Connection, wanted: Mirrored) -> _Plan:
    """Find what to remove and what to add: as little as possible, as the newest version must be
    last, and each supersedes the one before."""
    there, (_, _, versions) = _read_there(db, wanted), wanted
    digests = [text_digest(data) for _, data in versions]
    for first in range(len(there)):
        kept = [one for _, one in there[first:]]
        if kept == digests[: len(kept)]:
            gone = tuple(source_id for source_id, _ in there[:first])
            return there, gone, versions[len(kept) :]
    return there, tuple(source_id for source_id, _ in there), versions


def _read_there(db: sqlite3.Connection, wanted: Mirrored) -> _There:
    label, origin, _ = wanted
    rows = db.execute(
        "SELECT id, sha256 FROM source WHERE label = ? AND origin = ? ORDER BY version",
        (storable_text(label), origin),
    )
    return tuple(rows.fetchall())


def _read_mark(db: sqlite3.Connection, name: str) -> str:
    row = db.execute("SELECT upto FROM mirror WHERE name = ?", (name,)).fetchone()
    return row[0] if row else ""


def _update_newest(db: sqlite3.Connection, wanted: Mirrored) -> None:
    """Note the newest version's author, time and lifetime: they may change without the text."""
    label, origin, versions = wanted
    if not versions:
        return
    spec, _ = versions[-1]
    db.execute(
        "UPDATE source SET author = ?, said_at = ?, expires_at = ?"
        " WHERE label = ? AND origin = ? AND superseded_by IS NULL",
        (
            None if spec.author is None else storable_text(spec.author),
            spec.said_at,
            None if spec.ttl_s is None else time.time() + spec.ttl_s,
            storable_text(label),
            origin,
        ),
    )
