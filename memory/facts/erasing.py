"""Erasing: no byte of a fact's text stays in the file, its index, its log or its snapshots.

The ledger keeps the path, the time and "erased". A copy that a person made elsewhere stays.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from base.sqlite_files import connect, migrate
from memory.database import Database
from memory.errors import StoreUnavailableError
from memory.facts.drafts import clean_author, clean_why
from memory.facts.errors import UnknownFactError
from memory.facts.ledger import Entry, append
from memory.facts.model import Author
from memory.facts.paths import name_fact
from memory.facts.reading import find_at
from memory.facts.schema import STEPS
from memory.facts.snapshots import hold_snapshots, is_damage, list_snapshots
from memory.facts.store import FactStore

_ERASED = "erased"
_NAMED = """
WITH named (id) AS (
    SELECT id FROM fact WHERE uid = ?1
    UNION SELECT fact_id FROM change WHERE path = ?1 AND fact_id IS NOT NULL
)
SELECT id, uid, body FROM fact WHERE id IN named
    OR body != '' AND body IN (SELECT body FROM fact WHERE id IN named)
ORDER BY id
"""
_SAME = "SELECT id FROM fact WHERE uid = ?1 OR body = ?2 AND body != ''"


@dataclass(frozen=True, slots=True)
class Erased:
    """What was erased. `snapshots` counts those that had the text; `lost_snapshots` names those
    that were damaged, and so deleted."""

    ids: tuple[str, ...]
    paths: tuple[str, ...]
    snapshots: int = 0
    lost_snapshots: tuple[str, ...] = ()


def erase(store: FactStore, wanted: str, author: Author, *, why: str = "") -> Erased:
    """Erase a fact by its id, retracted or not; or, by a path or key, all that ever stood there.
    A fact with the same text elsewhere is erased, too.

    Raises:
        BadInputError: it is neither an id, a path nor a key.
        UnknownFactError: no fact has or had this name.
        StoreUnavailableError: the file is damaged, or a reader keeps its log from being emptied.
    """
    writer, reason = clean_author(store.gate, author), clean_why(store.gate, why)
    name = name_fact(wanted)
    path = Path(store.database.path)
    try:
        # A snapshot made meanwhile would have the text again. They come first: after a kill between
        # the two, the text is still known by what the file has.
        with hold_snapshots(path):
            with store.database.reading() as db:
                rows = _find_rows(db, name)
            found = [row[1] for row in rows], [row[2] for row in rows]
            with store.database.exclusively():
                snapshots, lost = _erase_in_snapshots(path, *found)
            # Not that of the day's first write, which makes a snapshot.
            with Database.writing(store.database) as db:
                rows = _find_rows(db, name)
                paths = _erase_rows(db, [row[0] for row in rows])
                _retract(db, writer, reason, store.clock())
            with store.database.exclusively() as db:
                _compact(db, path)
    except OSError as error:
        raise StoreUnavailableError(f"{error.filename or path}: {error.strerror}") from error
    return Erased(tuple(row[1] for row in rows), paths, snapshots, lost)


def _find_rows(db: sqlite3.Connection, name: str) -> list[tuple[int, str, str]]:
    """Return the row, id and text of each fact that is to be erased.

    Raises:
        UnknownFactError: there is none.
    """
    rows = db.execute(_NAMED, (name,)).fetchall()
    if not rows:
        raise UnknownFactError(
            f"no fact has or had the name {name[:80]!r}", "See all with `context-mode memory log`."
        )
    return rows


def _erase_rows(db: sqlite3.Connection, rows: Sequence[int]) -> tuple[str, ...]:
    """Take texts out of the rows, and reasons and sources out of the ledger's; return its paths."""
    paths: dict[str, None] = {}
    for row in rows:
        db.execute(
            "UPDATE fact SET title = '', body = '', tags = '[]', bytes = 0, sha256 = x''"
            " WHERE id = ?",
            (row,),
        )
        found = db.execute("SELECT DISTINCT path FROM change WHERE fact_id = ?", (row,))
        paths.update(dict.fromkeys(path for (path,) in found))
        db.execute(
            "UPDATE change SET why = ?2, source = ''"
            " WHERE fact_id = ?1 OR supersedes = ?1 AND fact_id IS NULL",
            (row, _ERASED),
        )
    return tuple(sorted(paths))


def _retract(db: sqlite3.Connection, author: Author, why: str, now: float) -> None:
    """Have nothing stand any more, on any branch, where an erased fact does."""
    places = db.execute(
        "SELECT DISTINCT b.name, c.path FROM branch b, change c JOIN fact f ON f.id = c.fact_id"
        " WHERE f.sha256 = x''"
    ).fetchall()
    for branch, path in places:
        found = find_at(db, branch, path)
        if found is None or found.sha256:
            continue
        entry = Entry(branch, path, None, "erase", now, author, found.scope, why=why or _ERASED)
        append(db, entry)


def _compact(db: sqlite3.Connection, path: Path) -> None:
    """Write the file anew, so that neither its free places nor its log have what was deleted.

    The index is merged into one part first: until then it keeps words that are gone.
    """
    db.execute("INSERT INTO live_fts (live_fts) VALUES ('rebuild')")
    db.execute("INSERT INTO live_fts (live_fts) VALUES ('optimize')")
    db.execute("VACUUM")
    busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise StoreUnavailableError(
            f"{path}: the text is erased, and a reader keeps the log from being emptied",
            "End what reads the file, and erase again.",
        )


def _erase_in_snapshots(
    path: Path, ids: Sequence[str], bodies: Sequence[str]
) -> tuple[int, tuple[str, ...]]:
    """Take texts out of each snapshot. Return how many had one, and those that were deleted, since
    what is damaged cannot be searched."""
    count, lost = 0, []
    for snapshot in list_snapshots(path):
        try:
            count += _erase_in_snapshot(snapshot, ids, bodies)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise StoreUnavailableError(f"{snapshot}: {error}") from error
            snapshot.unlink(missing_ok=True)
            lost.append(str(snapshot))
        for suffix in ("-wal", "-shm", "-journal"):
            snapshot.with_name(snapshot.name + suffix).unlink(missing_ok=True)
    return count, tuple(lost)


def _erase_in_snapshot(snapshot: Path, ids: Sequence[str], bodies: Sequence[str]) -> bool:
    with closing(connect(snapshot, settings={"secure_delete": "ON"})) as db:
        migrate(db, STEPS)
        db.execute("BEGIN IMMEDIATE")
        rows = {
            row for named in zip(ids, bodies, strict=True) for (row,) in db.execute(_SAME, named)
        }
        if rows:
            _erase_rows(db, sorted(rows))
            _retract(db, Author(), "", 0.0)
        db.execute("COMMIT")
        if rows:
            _compact(db, snapshot)
        db.execute("PRAGMA journal_mode = DELETE")
    return bool(rows)
