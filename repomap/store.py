"""The file of a map: opening, reading, rebuilding if it is damaged or has another form."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from base import stores
from base.locks import hold_lock
from repomap.model import FileRow, Import, MapDamagedError, MapError, Structure, Symbol

FORM = 3
"""Version of the form, raised when the content of a map is derived differently."""

FIELDS = ("path", "symbols", "body", "history")

_TABLES = """
CREATE TABLE file(
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, mtime_ns INTEGER NOT NULL,
    size INTEGER NOT NULL, inode INTEGER NOT NULL, sha256 BLOB NOT NULL, language TEXT,
    lines INTEGER NOT NULL, purpose TEXT NOT NULL, skeleton TEXT NOT NULL, note TEXT NOT NULL
) STRICT;
CREATE TABLE left_out(path TEXT PRIMARY KEY, reason TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE symbol(
    file INTEGER NOT NULL, ordinal INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
    parent TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    signature TEXT NOT NULL, PRIMARY KEY(file, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX symbol_by_name ON symbol(name, file);
CREATE TABLE reference(
    file INTEGER NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY(file, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE import(
    file INTEGER NOT NULL, ordinal INTEGER NOT NULL, module TEXT NOT NULL, names TEXT NOT NULL,
    form TEXT NOT NULL, PRIMARY KEY(file, ordinal)
) STRICT, WITHOUT ROWID;
CREATE TABLE edge(file INTEGER NOT NULL, target INTEGER NOT NULL, PRIMARY KEY(file, target))
    STRICT, WITHOUT ROWID;
CREATE INDEX edge_by_target ON edge(target, file);
CREATE TABLE unresolved(file INTEGER NOT NULL, module TEXT NOT NULL, PRIMARY KEY(file, module))
    STRICT, WITHOUT ROWID;
CREATE TABLE git_commit(sha TEXT PRIMARY KEY, at INTEGER NOT NULL, words TEXT NOT NULL)
    STRICT, WITHOUT ROWID;
CREATE TABLE commit_file(path TEXT NOT NULL, sha TEXT NOT NULL, PRIMARY KEY(path, sha))
    STRICT, WITHOUT ROWID;
CREATE INDEX commit_file_by_sha ON commit_file(sha, path);
CREATE TABLE indexed(
    file INTEGER NOT NULL, field TEXT NOT NULL, words BLOB NOT NULL, PRIMARY KEY(file, field)
) STRICT, WITHOUT ROWID;
CREATE TABLE mark(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""


def create_tables(db: sqlite3.Connection) -> None:
    """Create the tables, and a contentless full-text index for each field."""
    for statement in _TABLES.split(";"):
        if statement.strip():
            db.execute(statement)
    for field in FIELDS:
        db.execute(
            f"CREATE VIRTUAL TABLE words_{field} USING fts5(words, content='',"
            " tokenize='porter unicode61 remove_diacritics 2')"
        )


_COLUMNS = "path, id, mtime_ns, size, inode, sha256, language, lines, purpose, note"
REMOVE_WAIT_S = 5.0
_SETTINGS: Mapping[str, str | int] = {
    "synchronous": "OFF",
    "cache_size": -65536,
    "foreign_keys": "OFF",
}
"""Settings without durability: a map lost in a power failure is rebuilt."""

LOCK_S = 300.0
_WRITABLE = "Make its folder writable, and free space on its disk."
_REMEDIES: Mapping[int, str] = MappingProxyType(
    {
        sqlite3.SQLITE_FULL: "Free space on its disk, then try again.",
        sqlite3.SQLITE_IOERR: "Check its disk for free space and errors, then try again.",
        sqlite3.SQLITE_BUSY: "Another process uses it. Try again later.",
        sqlite3.SQLITE_LOCKED: "Another process uses it. Try again later.",
        sqlite3.SQLITE_NOMEM: "Free memory, then try again.",
        sqlite3.SQLITE_READONLY: _WRITABLE,
        sqlite3.SQLITE_CANTOPEN: _WRITABLE,
        sqlite3.SQLITE_PERM: _WRITABLE,
        sqlite3.SQLITE_AUTH: _WRITABLE,
    }
)
"""Remedies for SQLite errors; all others mean that the file is damaged."""


class MapStore:
    """An open map, for one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Open the file; create it if it is missing, damaged or has another form. `notes` has the
        reasons.

        Raises:
            MapError: it cannot be opened.
        """
        self.path = path
        self.notes: tuple[str, ...] = ()
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise MapError(f"{path}: {error}", _WRITABLE) from error
        try:
            self.db = self._open()
        except MapDamagedError:
            with self.hold():
                try:
                    self.db = self._open()  # another process may have created it first
                except MapDamagedError as error:
                    _remove_files(self.path)
                    self.db = self._open()
                    self._note(error)

    def _open(self) -> sqlite3.Connection:
        try:
            db = stores.connect(self.path, settings=_SETTINGS)
            try:
                (form,) = db.execute("PRAGMA user_version").fetchone()
                if form not in (0, FORM):
                    raise MapDamagedError(f"{self.path} has form {form}, not {FORM}")
                stores.migrate(db, [lambda _: None] * (FORM - 1) + [create_tables])
            except BaseException:
                db.close()
                raise
        except (
            stores.SchemaError,
            UnicodeDecodeError,
        ) as error:  # SQLite's message quotes content of the file
            raise _build_damaged(self.path, error) from error
        except sqlite3.Error as error:
            raise _translate_error(self.path, error) from error
        with suppress(OSError):
            self.path.chmod(0o600)
        return db

    def renew(self, error: MapDamagedError) -> None:
        """Replace the damaged file by an empty one; the caller holds the map.

        Raises:
            MapError: it cannot be replaced.
        """
        self.close()
        _remove_files(self.path)
        self.db = self._open()
        self._note(error)

    def _note(self, error: MapDamagedError) -> None:
        self.notes = (f"{error.message}: the map was rebuilt from the files",)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep other processes from updating the map.

        Raises:
            MapError: another process updates it for too long, or the folder cannot be written.
        """
        with _hold(self.path, LOCK_S):
            yield

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run one transaction, complete or not done.

        Raises:
            MapError: the disk is full, or the file cannot be written.
            MapDamagedError: it is damaged.
        """
        with self._transaction("BEGIN IMMEDIATE", "COMMIT") as db:
            yield db

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open one consistent view of the map.

        Raises:
            MapError: the file cannot be read.
            MapDamagedError: it is damaged.
        """
        with self._transaction("BEGIN", "ROLLBACK") as db:
            yield db

    @contextmanager
    def _transaction(self, begin: str, end: str) -> Iterator[sqlite3.Connection]:
        try:
            self.db.execute(begin)
            try:
                yield self.db
                self.db.execute(end)
            except BaseException:
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise _translate_error(self.path, error) from error
        except (zlib.error, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise _build_damaged(self.path, error) from error


def _translate_error(path: Path, error: sqlite3.Error) -> MapError:
    remedy = _REMEDIES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    return MapError(f"{path}: {error}", remedy) if remedy else _build_damaged(path, error)


def _build_damaged(path: Path, error: Exception) -> MapDamagedError:
    return MapDamagedError(
        f"{path}: {error}", "Delete the file, which can be rebuilt, then try again."
    )


def remove_map(path: Path) -> bool:
    """Remove the file of a map, unless a scan holds it; return whether it existed.

    Raises:
        MapError: a scan holds it, or it cannot be removed.
    """
    if not path.exists():
        return False
    with _hold(path, REMOVE_WAIT_S):
        _remove_files(path)
    return True


@contextmanager
def _hold(path: Path, wait_s: float) -> Iterator[None]:
    with ExitStack() as held:
        try:
            held.enter_context(hold_lock(path.with_suffix(".lock"), wait_s))
        except BlockingIOError:
            raise MapError(
                f"another process has been scanning for {wait_s:.0f} s and locks {path}",
                "Try again later.",
            ) from None
        except OSError as error:
            raise MapError(f"{path}: {error}", _WRITABLE) from error
        yield


def _remove_files(path: Path) -> None:
    try:
        stores.remove_file(path)
    except OSError as error:
        raise MapError(f"{path}: {error}", _WRITABLE) from error


def read_files(db: sqlite3.Connection) -> dict[str, FileRow]:
    """Return the files of the map by path, in order."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM file ORDER BY path")  # noqa: S608 - ours
    return {row[0]: FileRow(*row) for row in rows}


def read_row(db: sqlite3.Connection, file: int) -> FileRow:
    """Return a file of the map by its id."""
    found = db.execute(f"SELECT {_COLUMNS} FROM file WHERE id = ?", (file,)).fetchone()  # noqa: S608
    return FileRow(*found)


def read_skeleton(db: sqlite3.Connection, file: int) -> str:
    """Return the skeleton of a file."""
    row = db.execute("SELECT skeleton FROM file WHERE id = ?", (file,)).fetchone()
    return str(row[0]) if row else ""


def read_symbols(db: sqlite3.Connection, file: int) -> tuple[Symbol, ...]:
    """Return the symbols of a file in their order."""
    rows = db.execute(
        "SELECT name, kind, parent, start_line, end_line, signature FROM symbol"
        " WHERE file = ? ORDER BY ordinal",
        (file,),
    )
    return tuple(Symbol(*row) for row in rows)


def read_imports(db: sqlite3.Connection) -> Iterator[tuple[int, str, str | None, Import]]:
    """Yield each import with the id, path and language of its file."""
    rows = db.execute(
        "SELECT file.id, file.path, file.language, module, names, form FROM import"
        " JOIN file ON file.id = import.file ORDER BY file.path, import.ordinal"
    )
    for file, path, language, module, names, form in rows:
        yield file, path, language, Import(module, tuple(json.loads(names)), form)


def write_file(db: sqlite3.Connection, row: FileRow, found: Structure, body: str) -> int:
    """Write a file with all its data, replacing its earlier state; return its id."""
    old = db.execute("SELECT id FROM file WHERE path = ?", (row.path,)).fetchone()
    if old is not None:
        remove_file(db, old[0])
    columns = (row.path, row.mtime_ns, row.size, row.inode, row.sha256, row.language, row.lines)
    file = db.execute(
        "INSERT INTO file(path, mtime_ns, size, inode, sha256, language, lines, purpose, skeleton,"
        " note) VALUES(?,?,?,?,?,?,?,?,?,?)",
        (*columns, found.purpose, found.skeleton, found.note),
    ).lastrowid
    assert file is not None
    db.executemany(
        "INSERT INTO symbol VALUES(?,?,?,?,?,?,?,?)",
        (
            (file, at, one.name, one.kind, one.parent, one.start_line, one.end_line, one.signature)
            for at, one in enumerate(found.symbols)
        ),
    )
    db.executemany(
        "INSERT OR IGNORE INTO reference VALUES(?,?,?)",
        ((file, name, count) for name, count in found.references),
    )
    db.executemany(
        "INSERT INTO import VALUES(?,?,?,?,?)",
        (
            (file, at, one.module, json.dumps(one.names), one.form)
            for at, one in enumerate(found.imports)
        ),
    )
    index_words(db, file, "body", body)
    return file


def remove_file(db: sqlite3.Connection, file: int) -> None:
    """Remove a file and its words."""
    for field in FIELDS:
        index_words(db, file, field, "")
    for table in ("symbol", "reference", "import", "edge", "unresolved"):
        db.execute(f"DELETE FROM {table} WHERE file = ?", (file,))  # noqa: S608 - ours
    db.execute("DELETE FROM edge WHERE target = ?", (file,))
    db.execute("DELETE FROM file WHERE id = ?", (file,))


def index_words(db: sqlite3.Connection, file: int, field: str, words: str) -> None:
    """Index a file's words of one field, replacing the earlier ones. A contentless index needs the
    old words to remove them, so they are stored, compressed."""
    old = db.execute(
        "SELECT words FROM indexed WHERE file = ? AND field = ?", (file, field)
    ).fetchone()
    if old is not None:
        before = zlib.decompress(old[0]).decode()
        if before == words:
            return
        db.execute(
            f"INSERT INTO words_{field}(words_{field}, rowid, words) VALUES('delete', ?, ?)",
            (file, before),
        )
        db.execute("DELETE FROM indexed WHERE file = ? AND field = ?", (file, field))
    if words:
        db.execute(f"INSERT INTO words_{field}(rowid, words) VALUES(?, ?)", (file, words))
        packed = zlib.compress(words.encode("utf-8", "replace"), 1)
        db.execute("INSERT INTO indexed VALUES(?,?,?)", (file, field, packed))


def read_marks(db: sqlite3.Connection) -> dict[str, str]:
    """Return the marks of the whole map."""
    return dict(db.execute("SELECT name, value FROM mark"))


def write_marks(db: sqlite3.Connection, marks: Iterable[tuple[str, str]]) -> None:
    """Write marks of the whole map."""
    db.executemany("INSERT OR REPLACE INTO mark VALUES(?,?)", marks)
