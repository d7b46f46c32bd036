"""Checks and repairs of a file of facts, and its restore from a snapshot, complete or not done.

The replaced file is stored with the snapshots, so that a restore can be undone by another.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from base.stores import (
    UNFINISHED,
    WAIT_S,
    SchemaError,
    connect,
    connect_read_only,
    copy_into,
    is_damage,
    list_copies,
    open_current,
    put_file,
    remove_file,
    replacing,
    require_sound,
    sync,
    transaction,
)
from memory.errors import BadInputError
from memory.facts.ledger import read_columns, replay
from memory.facts.model import MAIN
from memory.facts.schema import INDEX, STEPS
from memory.facts.store import (
    KEPT,
    FactStore,
    LastSnapshot,
    list_all_snapshots,
    list_replaced,
    name_replaced,
)

if TYPE_CHECKING:
    from base.plain_files import StrPath

_TABLES = frozenset({"fact", "change", "branch"})
_CHOOSE = "List them: context-mode memory snapshots"
# The newest change of each path of "main", if a fact remains there.
_REPLAY = """
SELECT c.path, c.fact_id, c.seq, c.pinned, c.scope, f.bytes, c.expires_at, w.agent, w.session, w.seq
FROM change c JOIN fact f ON f.id = c.fact_id
JOIN change w ON w.seq = (
    SELECT max(seq) FROM change WHERE fact_id = c.fact_id AND path = c.path AND seq <= c.seq
        AND operation NOT IN ('pin', 'unpin')
)
WHERE c.seq IN (SELECT max(seq) FROM change WHERE branch = 'main' GROUP BY path)
"""
_LIVE = """
SELECT path, fact_id, seq, pinned, scope, bytes, expires_at, agent, session, written FROM live
"""
_INDEXED = """
SELECT l.path, l.id, i.rowid IS NOT NULL, i.title, i.tags, i.path, i.body, i.parts, i.near
FROM live l LEFT JOIN live_fts i ON i.rowid = l.id
"""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy that can be restored."""

    name: str
    path: str
    bytes: int
    at: float = 0.0  # time of its latest change, in seconds since the epoch
    facts: int = 0  # number of facts on "main"
    changes: int = 0
    problem: str = ""  # if not empty, it cannot be restored and has no counts


@dataclass(frozen=True, slots=True)
class Restored:
    """The outcome of a restore. The replaced file, if any, is now a snapshot."""

    path: str
    snapshot: Snapshot
    replaced: str  # the name of that snapshot, or empty
    replaced_path: str  # the path of that snapshot, or empty
    is_readable: bool  # whether the replaced file could be read
    lost: tuple[str, ...] = ()  # paths of "main" that had a fact and have none now
    back: tuple[str, ...] = ()  # paths of "main" that have a fact again
    lost_changes: int | None = None  # lost lines of the ledger; None if unknown


_Content = tuple[Mapping[str, str], Mapping[int, tuple[str, float]]]
"""Paths of "main" with their facts, and place and time of the ledger's lines by number."""


def describe_snapshots(path: StrPath) -> list[Snapshot]:
    """List the snapshots of a file of facts, the newest day first, then the replaced files."""
    return [_describe(one, _name(Path(path), one)) for one in list_all_snapshots(path)]


def find_snapshot(path: StrPath, wanted: str) -> Snapshot:
    """Find the snapshot that the user names: a listed one, or a file.

    Raises:
        BadInputError: no snapshot or file has this name.
    """
    for one in list_all_snapshots(path):
        if wanted in (_name(Path(path), one), one.name):
            return _describe(one, _name(Path(path), one))
    try:
        file = Path(wanted).expanduser().absolute()
        is_there = wanted != "" and file.is_file()
        is_own = is_there and Path(path).exists() and file.samefile(path)
    except (OSError, ValueError, RuntimeError):  # not a valid file name, or an unknown home
        is_there = False
    if not is_there:
        raise BadInputError(f"no snapshot {wanted[:80]!r}", _CHOOSE)
    if is_own:
        raise BadInputError(f"{file} is the file of facts itself", _CHOOSE)
    return _describe(file, str(file))


def find_last_sound(path: StrPath) -> tuple[Snapshot, tuple[Snapshot, ...]]:
    """Find the newest daily snapshot that can be restored, and the skipped newer ones.

    Raises:
        BadInputError: no snapshot can be restored.
    """
    passed: list[Snapshot] = []
    for one in list_copies(path):
        found = _describe(one, _name(Path(path), one))
        if not found.problem:
            return found, tuple(passed)
        passed.append(found)
    raise BadInputError(
        f"{path} has no snapshot that can be restored",
        "Name a file made by `context-mode memory backup`.",
    )


def restore(
    path: StrPath,
    snapshot: Snapshot,
    *,
    clock: Callable[[], float] = time.time,
    wait_s: float = WAIT_S,
) -> Restored:
    """Replace a file of facts by a snapshot. Other processes wait to open it.

    Raises:
        BadInputError: the snapshot is damaged, has no facts, or is not a file of facts.
        StoreUnavailableError: another process has the file open for longer than `wait_s`, or it
            cannot be written. The file is unchanged.
    """
    own = Path(path)
    real = Path(os.path.realpath(own))
    with replacing(own, wait_s, remedy="Nothing was restored.") as beside:
        live, changes = _make_sound(Path(snapshot.path), beside)
        before = _read_present(real)
        kept = _keep_present(own, real, clock())
        put_file(beside, real)
        for old in list_replaced(own)[KEPT:]:
            if old != kept:  # not the newest if the clock was put back
                remove_file(old)
    replaced = (_name(own, kept), str(kept)) if kept else ("", "")
    if before is None:
        return Restored(str(path), snapshot, *replaced, is_readable=False)
    return Restored(
        str(path),
        snapshot,
        *replaced,
        True,
        _differ(before[0], live),
        _differ(live, before[0]),
        _count_lost(before[1], changes),
    )


def _differ(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(path for path, uid in one.items() if other.get(path) != uid))


def _count_lost(
    before: Mapping[int, tuple[str, float]], after: Mapping[int, tuple[str, float]]
) -> int | None:
    """Count the ledger's lines after the last common one; None if it is another ledger."""
    last = min(max(after), max(before, default=0))
    if last and before.get(last) != after.get(last):
        return None
    return sum(1 for seq in before if seq > last)


def _name(path: Path, snapshot: Path) -> str:
    return snapshot.stem.removeprefix(f"{path.stem}-")


def _describe(file: Path, name: str) -> Snapshot:
    size = file.stat().st_size
    try:
        with closing(_open(file)) as db:
            (facts,) = db.execute("SELECT count(*) FROM live").fetchone()
            changes, at = db.execute("SELECT count(*), max(at) FROM change").fetchone()
        _require_changes(file, changes)
    except BadInputError as error:
        return Snapshot(name, str(file), size, problem=error.message)
    except sqlite3.Error as error:
        return Snapshot(name, str(file), size, problem=_say_damage(file, error))
    return Snapshot(name, str(file), size, at, facts, changes)


def _open(file: Path) -> sqlite3.Connection:
    """Open a copy for reading; it may come from anywhere.

    Raises:
        BadInputError: it is not a file of facts.
        sqlite3.Error: it is damaged.
    """
    db = connect_read_only(file)
    try:
        require_sound(db)
        found = db.execute("SELECT type, name FROM sqlite_master").fetchall()
        # Facts need no actions that a file triggers when it is written.
        if any(kind in ("trigger", "view") for kind, _ in found):
            raise BadInputError(f"{file} is not a file of facts: it has triggers or views", _CHOOSE)
        if not {name for kind, name in found if kind == "table"} >= _TABLES:
            raise BadInputError(f"{file} is not a file of facts", _CHOOSE)
    except BaseException:
        db.close()
        raise
    return db


def _make_sound(file: Path, to: Path) -> _Content:
    """Copy a snapshot, migrate it, and rebuild it from its ledger; return its content.

    Raises:
        BadInputError: it is damaged, has no facts, or is not a file of facts.
    """
    try:
        with closing(_open(file)) as db:
            copy_into(db, to)
        with closing(open_current(to, STEPS)) as db:
            with transaction(db):
                if any(find_problems(db)):
                    rebuild(db)
                if problem := next(find_problems(db), ""):
                    raise sqlite3.DatabaseError(problem)
                content = _read_content(db)
            db.execute("PRAGMA journal_mode = DELETE")
    except SchemaError as error:
        raise BadInputError(f"{file}: {error}", _CHOOSE) from error
    except sqlite3.Error as error:
        raise BadInputError(_say_damage(file, error), _CHOOSE) from error
    _require_changes(file, len(content[1]))
    sync(to)
    return content


def _require_changes(file: Path, count: int) -> None:
    if not count:
        raise BadInputError(f"{file} has no facts", _CHOOSE)


def _say_damage(file: Path, error: sqlite3.Error) -> str:
    return f"{file} is damaged: {error}"


def _read_present(path: Path) -> _Content | None:
    """Read the file to replace, and empty its log into it; None if it cannot be read."""
    if not path.exists() or not path.stat().st_size:
        return None
    try:
        with closing(connect(path)) as db:
            content = _read_content(db)
            db.execute("PRAGMA journal_mode = DELETE")
            return content
    except sqlite3.Error:
        return None


def _read_content(db: sqlite3.Connection) -> _Content:
    live = db.execute("SELECT l.path, f.uid FROM live l JOIN fact f ON f.id = l.fact_id")
    changes = db.execute("SELECT seq, path, at FROM change")
    return dict(live), {seq: (path, at) for seq, path, at in changes}


def _keep_present(path: Path, real: Path, now: float) -> Path | None:
    """Copy the file to replace to the snapshots; None if it is empty. After a kill before the new
    file is in place, the old one has no log. So the log is copied too; `_read_present` has emptied
    it if possible. The copy is not a second link: SQLite finds a file's log by its name."""
    parts = {suffix: Path(f"{real}{suffix}") for suffix in ("", "-wal")}
    if not parts[""].exists() or not any(
        part.exists() and part.stat().st_size for part in parts.values()
    ):
        return None
    kept = name_replaced(path, now)
    beside = kept.with_suffix(UNFINISHED)
    for suffix, part in parts.items():
        if part.exists():
            unfinished = Path(f"{beside}{suffix}")
            unfinished.touch(0o600)
            shutil.copyfile(part, unfinished)
            sync(unfinished)
    for suffix, part in parts.items():
        if part.exists():
            os.replace(f"{beside}{suffix}", f"{kept}{suffix}")
    return kept


def check_store(store: FactStore) -> tuple[str, ...]:
    """List the problems of a file."""
    if isinstance(store.database, LastSnapshot):
        return store.notices
    with store.database.reading() as db:
        return tuple(find_problems(db))


def repair_store(store: FactStore) -> tuple[str, ...]:
    """Rebuild the live facts from the ledger if they differ; return the remaining problems.

    Raises:
        StoreUnavailableError: the file is damaged.
        ReadOnlyError: the file can only be read.
    """
    with store.database.writing() as db:
        if any(find_problems(db)):
            rebuild(db)
        return tuple(find_problems(db))


def rebuild(db: sqlite3.Connection) -> None:
    """Rebuild the live facts and their index from the ledger."""
    db.execute("DROP TABLE live_fts")  # no row of a damaged index can be deleted
    db.execute(INDEX)
    replay(db)


def find_problems(db: sqlite3.Connection) -> Iterator[str]:
    """Yield the problems of a file."""
    yield from _check_words(db)
    for (line,) in db.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield str(line)
    for row in db.execute("PRAGMA foreign_key_check"):
        yield f"{row[0]}: row {row[1]} refers to a missing row"
    replayed, live = _by_path(db, _REPLAY), _by_path(db, _LIVE)
    for path in sorted(replayed.keys() | live.keys()):
        if replayed.get(path) != live.get(path):
            yield f"{path}: {MAIN} has {live.get(path)}, the ledger {replayed.get(path)}"
    yield from _find_index_problems(db, len(live))
    sums = (sum(row[5] for row in replayed.values()), len(replayed))
    marks = dict(db.execute("SELECT name, value FROM mark"))
    if (marks.get("live_bytes"), marks.get("live_facts")) != sums:
        yield f"the sums are {marks}, the ledger has {sums[0]} bytes in {sums[1]} facts"


def _check_words(db: sqlite3.Connection) -> Iterator[str]:
    """Compare the index's words with its texts; SQLite allows this only in a writable file."""
    try:
        db.execute("INSERT INTO live_fts (live_fts) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            yield "the index does not match its texts"
        elif error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_READONLY:
            raise


def _find_index_problems(db: sqlite3.Connection, live: int) -> Iterator[str]:
    try:
        for path, row, is_there, *columns in db.execute(_INDEXED).fetchall():
            if not is_there:
                yield f"{path}: missing from the index"
            elif tuple(columns) != read_columns(db, row):
                yield f"{path}: different text in the index"
        (indexed,) = db.execute("SELECT count(*) FROM live_fts").fetchone()
    except sqlite3.DatabaseError as error:  # some releases of SQLite find no row of an empty index
        if not is_damage(error):
            raise
        yield "cannot read the index"
        return
    if indexed > live:
        yield f"the index has {indexed} facts, but {live} are live"


def _by_path(db: sqlite3.Connection, query: str) -> dict[str, tuple[Any, ...]]:
    return {row[0]: row for row in db.execute(query)}
