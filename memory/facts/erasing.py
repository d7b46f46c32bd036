"""Erasing: removes a fact's text from the file, its index, its log and its snapshots.

The ledger keeps the path, the time and "erased". A user's own copy elsewhere stays.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from base.stores import (
    Database,
    SchemaError,
    connect_read_only,
    hold_copies,
    is_damage,
    open_current,
    transaction,
)
from memory.errors import StoreUnavailableError
from memory.facts.drafts import clean_author, clean_why
from memory.facts.ledger import append
from memory.facts.model import Author, Change, UnknownFactError, name_fact
from memory.facts.reading import find_at
from memory.facts.schema import STEPS
from memory.facts.store import FactStore, list_all_snapshots

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

# The same text written by another author at the same path counts as theirs, too. Pinning and
# merging do not count as writing.
_AUTHORED = """
SELECT f.id FROM fact f WHERE f.body != '' AND EXISTS (
    SELECT 1 FROM change c WHERE c.fact_id = f.id AND c.session = ?1
        AND c.operation IN ('add', 'replace', 'import') AND {below}
) AND NOT EXISTS (
    SELECT 1 FROM change c WHERE c.fact_id = f.id AND c.session != ?1
        AND c.operation IN ('add', 'replace', 'import')
)
"""
_PATHS = "SELECT DISTINCT path FROM change WHERE fact_id = ?"
_BELOW = "substr(c.path, 1, length(?{number})) = ?{number}"
Find = Callable[[sqlite3.Connection], Sequence[int]]
"""A function that finds the rows of facts to erase, in a file or in a copy."""


@dataclass(frozen=True, slots=True)
class Erased:
    """Erased facts, and the snapshots that had them."""

    ids: tuple[str, ...]
    paths: tuple[str, ...]
    snapshots: int = 0  # number of snapshots that had the text
    lost_snapshots: tuple[str, ...] = ()  # names of damaged snapshots, which were deleted


def erase(store: FactStore, wanted: str, author: Author, *, why: str = "") -> Erased:
    """Erase a fact by its id, retracted or not, or all facts that ever were at a path or key. Facts
    elsewhere with the same text are erased, too.

    Raises:
        BadInputError: the name is not an id, a path or a key.
        UnknownFactError: no fact has or had this name.
        StoreUnavailableError: the file is damaged, or a reader keeps its log from being emptied.
    """
    name = name_fact(wanted)

    def find(db: sqlite3.Connection) -> list[tuple[int, str, str]]:
        if rows := db.execute(_NAMED, (name,)).fetchall():
            return rows
        raise UnknownFactError(
            f"no fact was ever named {name[:80]!r}", "List all: context-mode memory log"
        )

    def look_for(db: sqlite3.Connection) -> Find:
        named = [(uid, body) for _, uid, body in find(db)]
        return lambda copy: sorted({row for one in named for (row,) in copy.execute(_SAME, one)})

    return _erase(store, lambda db: [row[0] for row in find(db)], look_for, author, why)


def find_authored(
    db: sqlite3.Connection, session: str, prefixes: Sequence[str]
) -> tuple[list[int], list[str]]:
    """Find the facts below paths that only this session wrote: their rows, and all their paths,
    past and present."""
    below = " OR ".join(_BELOW.format(number=2 + place) for place in range(len(prefixes)))
    query = _AUTHORED.format(below=f"({below})")
    rows = [row for (row,) in db.execute(query, (session, *prefixes))]
    paths: set[str] = set()
    for row in rows:
        paths.update(path for (path,) in db.execute(_PATHS, (row,)))
    return rows, sorted(paths)


def erase_authored(
    store: FactStore, sessions: Mapping[str, Sequence[str]], author: Author, *, why: str = ""
) -> Erased:
    """Erase the facts that sessions wrote, each below its own paths; those of others stay.

    Raises:
        StoreUnavailableError: the file is damaged, or a reader keeps its log from being emptied.
    """

    def find(db: sqlite3.Connection) -> list[int]:
        found = (find_authored(db, *one)[0] for one in sessions.items())
        return sorted({row for rows in found for row in rows})

    if not any(_has_rows(one, find) for one in _list_files(store)):
        return Erased((), ())
    return _erase(store, find, lambda _: find, author, why)


def _list_files(store: FactStore) -> list[Path]:
    path = Path(store.path)
    return [path, *list_all_snapshots(path)]


def _has_rows(path: Path, find: Find) -> bool:
    """Return whether a file has rows to erase; an unreadable file may have some."""
    try:
        with closing(connect_read_only(path)) as db:
            return bool(find(db))
    except sqlite3.Error:
        return True


def _erase(
    store: FactStore,
    find: Find,
    look_for: Callable[[sqlite3.Connection], Find],
    author: Author,
    why: str,
) -> Erased:
    """Erase the rows that `find` finds in the file. `look_for` gets the file and returns the
    function that finds them in snapshots."""
    writer, reason = clean_author(store.gate, author), clean_why(store.gate, why)
    path = Path(store.path)
    try:
        # A snapshot made between the two steps would have the text again. Snapshots come first:
        # after a kill between the steps, the file still identifies the text.
        with hold_copies(path):
            with store.database.reading() as db:
                find_copied = look_for(db)
            with store.database.exclusively():
                snapshots, lost = _erase_in_snapshots(path, find_copied)
            # Not the snapshot that the day's first write makes.
            with Database.writing(store.database) as db:
                rows = find(db)
                uids, paths = _erase_rows(db, rows)
                _retract(db, writer, reason, store.clock())
            with store.database.exclusively() as db:
                _compact(db, path)
    except OSError as error:
        raise StoreUnavailableError(f"{error.filename or path}: {error.strerror}") from error
    return Erased(uids, paths, snapshots, lost)


def _erase_rows(
    db: sqlite3.Connection, rows: Sequence[int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Clear the texts of the rows, and reasons and sources in the ledger; return the ids of the
    facts, and the ledger's paths."""
    ids, paths = list[str](), set[str]()
    for row in rows:
        (uid,) = db.execute(
            "UPDATE fact SET title = '', body = '', tags = '[]', bytes = 0, sha256 = x''"
            " WHERE id = ? RETURNING uid",
            (row,),
        ).fetchone()
        ids.append(uid)
        paths.update(path for (path,) in db.execute(_PATHS, (row,)))
        db.execute(
            "UPDATE change SET why = ?2, source = ''"
            " WHERE fact_id = ?1 OR supersedes = ?1 AND fact_id IS NULL",
            (row, _ERASED),
        )
    return tuple(ids), tuple(sorted(paths))


def _retract(db: sqlite3.Connection, author: Author, why: str, now: float) -> None:
    """Retract the erased facts that are current, on every branch."""
    places = db.execute(
        "SELECT DISTINCT b.name, c.path FROM branch b, change c JOIN fact f ON f.id = c.fact_id"
        " WHERE f.sha256 = x''"
    ).fetchall()
    for branch, path in places:
        found = find_at(db, branch, path)
        if found is None or found.sha256:
            continue
        by = (author.agent, author.session)
        append(db, Change(branch, path, "", "erase", now, *by, found.scope, why=why or _ERASED))


def _compact(db: sqlite3.Connection, path: Path) -> None:
    """Rewrite the file, so that neither its free pages nor its log have the deleted text. First the
    index is merged into one part: until then it keeps deleted words."""
    db.execute("INSERT INTO live_fts (live_fts) VALUES ('rebuild')")
    db.execute("INSERT INTO live_fts (live_fts) VALUES ('optimize')")
    db.execute("VACUUM")
    busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise StoreUnavailableError(
            f"{path}: the text is erased, but a reader prevents emptying the log",
            "Stop the programs that read the file, then erase again.",
        )


def _erase_in_snapshots(path: Path, find: Find) -> tuple[int, tuple[str, ...]]:
    """Clear texts in each snapshot. Return how many had one, and the deleted ones: damaged
    snapshots cannot be searched."""
    count, lost = 0, []
    for snapshot in list_all_snapshots(path):
        try:
            count += _erase_in_snapshot(snapshot, find)
        except (sqlite3.DatabaseError, SchemaError) as error:
            if not is_damage(error):
                raise StoreUnavailableError(f"{snapshot}: {error}") from error
            snapshot.unlink(missing_ok=True)
            lost.append(str(snapshot))
        for suffix in ("-wal", "-shm", "-journal"):
            snapshot.with_name(snapshot.name + suffix).unlink(missing_ok=True)
    return count, tuple(lost)


def _erase_in_snapshot(snapshot: Path, find: Find) -> bool:
    with closing(open_current(snapshot, STEPS, settings={"secure_delete": "ON"})) as db:
        with transaction(db):
            rows = find(db)
            if rows:
                _erase_rows(db, rows)
                _retract(db, Author(), "", 0.0)
        if rows:
            _compact(db, snapshot)
        db.execute("PRAGMA journal_mode = DELETE")
    return bool(rows)
