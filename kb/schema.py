"""The tables of a store and how an older file becomes a current one.

`MIGRATIONS` is an ordered list of named functions; each runs once, in one transaction with the
record that it ran. A released migration is never edited: a change is a new one at the end.
"""

# ruff: noqa: S608 - only names and conditions fixed in this file are put into statements

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from kb.compression import SQL_NAME
from kb.folding import foldable, folded_words

TOKENIZER = "porter unicode61 remove_diacritics 2"


def create_sources_and_chunks(db: sqlite3.Connection) -> None:
    """Sources with their versions, the one copy of their text, and what is still to be indexed."""
    db.execute("""
        CREATE TABLE source (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            label TEXT NOT NULL,
            version INTEGER NOT NULL,
            kind TEXT NOT NULL,
            language TEXT,
            origin TEXT NOT NULL,
            session TEXT,
            path TEXT,
            mtime_ns INTEGER,
            inode INTEGER,
            sha256 BLOB,
            bytes_total INTEGER NOT NULL,
            bytes_indexed INTEGER NOT NULL,
            indexed_at REAL NOT NULL,
            expires_at REAL,
            pinned INTEGER NOT NULL DEFAULT 0,
            superseded_by INTEGER,
            UNIQUE (label, version)
        )""")
    db.execute("CREATE INDEX source_path ON source (path) WHERE path IS NOT NULL")
    db.execute("CREATE INDEX source_expiry ON source (expires_at) WHERE expires_at IS NOT NULL")
    db.execute("""
        CREATE TABLE chunk (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            source_id INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
            kind TEXT NOT NULL,
            language TEXT,
            start_byte INTEGER NOT NULL,
            end_byte INTEGER NOT NULL,
            start_line INTEGER NOT NULL,
            end_line INTEGER NOT NULL,
            leaf TEXT NOT NULL,
            crumb TEXT NOT NULL,
            body TEXT NOT NULL,
            ident TEXT NOT NULL,
            raw BLOB
        )""")
    db.execute("CREATE INDEX chunk_source ON chunk (source_id, start_byte)")
    db.execute("""
        CREATE TABLE pending (
            id INTEGER PRIMARY KEY,
            source_id INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
            spool TEXT NOT NULL,
            next_byte INTEGER NOT NULL,
            end_byte INTEGER NOT NULL,
            next_line INTEGER NOT NULL
        )""")


def create_full_text_index(db: sqlite3.Connection) -> None:
    """Two indexes over the one text: of the current versions, which search reads, and of older
    ones, which so never slow or skew it."""
    for table, view, condition in (
        ("chunk_fts", "current_chunk", "IS NULL"),
        ("history_fts", "superseded_chunk", "IS NOT NULL"),
    ):
        db.execute(f"""
            CREATE VIEW {view} AS
            SELECT c.id, c.source_id, c.leaf, c.crumb, c.body, c.ident, s.label
            FROM chunk c JOIN source s ON s.id = c.source_id
            WHERE s.superseded_by {condition}""")
        db.execute(f"""
            CREATE VIRTUAL TABLE {table} USING fts5(
                leaf, crumb, body, ident, label,
                content='{view}', content_rowid='id', tokenize='{TOKENIZER}'
            )""")
    db.execute("CREATE VIRTUAL TABLE chunk_term USING fts5vocab(chunk_fts, 'row')")


def create_vocabulary(db: sqlite3.Connection) -> None:
    """The words as written, with a trigram index, to find what a mistyped one meant."""
    db.execute("CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)")
    db.execute("""
        CREATE VIRTUAL TABLE word_fts USING fts5(
            text, content='word', content_rowid='id', tokenize='trigram', detail='none'
        )""")


def add_conversions_and_redactions(db: sqlite3.Connection) -> None:
    """What was done to a source's bytes before they were stored, and how large its file is."""
    db.execute("ALTER TABLE source ADD COLUMN file_size INTEGER")
    db.execute("ALTER TABLE source ADD COLUMN converted TEXT")
    db.execute("ALTER TABLE source ADD COLUMN redactions INTEGER NOT NULL DEFAULT 0")
    db.execute("UPDATE source SET file_size = bytes_total WHERE path IS NOT NULL")
    db.execute("CREATE INDEX source_content ON source (sha256) WHERE inode IS NOT NULL")


def add_series(db: sqlite3.Connection) -> None:
    """What makes sources with labels of their own versions of one thing, such as a command."""
    db.execute("ALTER TABLE source ADD COLUMN series TEXT")
    db.execute("CREATE INDEX source_series ON source (series) WHERE series IS NOT NULL")


def create_pages(db: sqlite3.Connection) -> None:
    """When an address was fetched, and by what its server tells whether it changed."""
    db.execute("""
        CREATE TABLE page (
            url_sha256 BLOB PRIMARY KEY,
            source_id INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
            fetched_at REAL NOT NULL,
            title TEXT,
            etag TEXT,
            last_modified TEXT,
            final_sha256 BLOB NOT NULL
        )""")
    db.execute("CREATE INDEX page_source ON page (source_id)")


def add_state_of_queued_parts(db: sqlite3.Connection) -> None:
    """Where in its structure a source stands whose next part is still to be chunked."""
    db.execute("ALTER TABLE pending ADD COLUMN state TEXT")


def compress_texts(db: sqlite3.Connection) -> None:
    """The text of chunks stored from now on is compressed; the indexes read it through the views
    all the same."""
    for view, condition in (("current_chunk", "IS NULL"), ("superseded_chunk", "IS NOT NULL")):
        db.execute(f"DROP VIEW {view}")
        db.execute(f"""
            CREATE VIEW {view} AS
            SELECT c.id, c.source_id, c.leaf, c.crumb, {SQL_NAME}(c.body) AS body, c.ident, s.label
            FROM chunk c JOIN source s ON s.id = c.source_id
            WHERE s.superseded_by {condition}""")


def add_how_files_were_met(db: sqlite3.Connection) -> None:
    """Whether a file was met in a folder, and so goes when git ignores it, or named by itself."""
    db.execute("ALTER TABLE source ADD COLUMN met INTEGER NOT NULL DEFAULT 0")
    db.execute("UPDATE source SET met = 1 WHERE inode IS NOT NULL")


def find_letters_by_what_is_typed(db: sqlite3.Connection) -> None:
    """Words with letters such as ł are found without them, in what was stored before, too."""
    for table, view in (("chunk_fts", "current_chunk"), ("history_fts", "superseded_chunk")):
        columns = "leaf, crumb, body, ident, label"
        for chunk_id in _chunks_with_folded_words(db, table):
            row = db.execute(f"SELECT {columns} FROM {view} WHERE id = ?", (chunk_id,)).fetchone()
            leaf, crumb, body, ident, label = row
            terms = " ".join([ident, *dict.fromkeys(folded_words(body))]).strip()
            db.execute(
                f"INSERT INTO {table} ({table}, rowid, {columns})"
                " VALUES ('delete', ?, ?, ?, ?, ?, ?)",
                (chunk_id, *row),
            )
            db.execute("UPDATE chunk SET ident = ? WHERE id = ?", (terms, chunk_id))
            db.execute(
                f"INSERT INTO {table} (rowid, {columns}) VALUES (?, ?, ?, ?, ?, ?)",
                (chunk_id, leaf, crumb, body, terms, label),
            )


def _chunks_with_folded_words(db: sqlite3.Connection, table: str) -> list[int]:
    """The chunks in whose text a word with such a letter stands, told by the index's terms."""
    found: set[int] = set()
    for name, form in (("term_now", "row"), ("place_now", "instance")):
        db.execute(f"CREATE VIRTUAL TABLE {name} USING fts5vocab({table}, '{form}')")
    terms = [term for (term,) in db.execute("SELECT term FROM term_now") if foldable(term)]
    for term in terms:
        places = "SELECT DISTINCT doc FROM place_now WHERE term = ? AND col = 'body'"
        found.update(doc for (doc,) in db.execute(places, (term,)))
    for name in ("term_now", "place_now"):
        db.execute(f"DROP TABLE {name}")
    return sorted(found)


def move_superseded_versions_bit_by_bit(db: sqlite3.Connection) -> None:
    """A large version that was superseded stays in the index of current ones for a while, with its
    chunks from `unmoved_from` on."""
    db.execute("ALTER TABLE source ADD COLUMN unmoved_from INTEGER")
    db.execute(
        "CREATE INDEX source_unmoved ON source (unmoved_from) WHERE unmoved_from IS NOT NULL"
    )
    for view, condition in (
        ("current_chunk", "s.superseded_by IS NULL OR c.id >= s.unmoved_from"),
        (
            "superseded_chunk",
            "s.superseded_by IS NOT NULL AND (s.unmoved_from IS NULL OR c.id < s.unmoved_from)",
        ),
    ):
        db.execute(f"DROP VIEW {view}")
        db.execute(f"""
            CREATE VIEW {view} AS
            SELECT c.id, c.source_id, c.leaf, c.crumb, {SQL_NAME}(c.body) AS body, c.ident, s.label
            FROM chunk c JOIN source s ON s.id = c.source_id
            WHERE {condition}""")


def create_evictions(db: sqlite3.Connection) -> None:
    """What goes, and went, so that a quota is kept to."""
    db.execute("""
        CREATE TABLE eviction (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            begun_at REAL NOT NULL,
            quota TEXT NOT NULL,
            text_bytes_left INTEGER NOT NULL,
            sources INTEGER NOT NULL DEFAULT 0,
            text_bytes INTEGER NOT NULL DEFAULT 0,
            forgotten_at REAL,
            merges INTEGER NOT NULL DEFAULT 0,
            ended_at REAL
        )""")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    create_sources_and_chunks,
    create_full_text_index,
    create_vocabulary,
    add_conversions_and_redactions,
    add_series,
    create_pages,
    add_state_of_queued_parts,
    compress_texts,
    add_how_files_were_met,
    find_letters_by_what_is_typed,
    move_superseded_versions_bit_by_bit,
    create_evictions,
)


class SchemaTooNewError(Exception):
    """A later release wrote this file."""


def migrate(db: sqlite3.Connection) -> list[str]:
    """Bring the file up to date, and say which migrations ran.

    Raises:
        SchemaTooNewError: the file holds a migration that this release does not know.
    """
    db.execute(
        "CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY, applied_at REAL NOT NULL)"
    )
    applied = {name for (name,) in db.execute("SELECT name FROM migration")}
    unknown = applied - {step.__name__ for step in MIGRATIONS}
    if unknown:
        raise SchemaTooNewError(", ".join(sorted(unknown)))
    ran = []
    for step in MIGRATIONS:
        if step.__name__ in applied:
            continue
        db.execute("BEGIN IMMEDIATE")
        try:
            again = db.execute("SELECT 1 FROM migration WHERE name = ?", (step.__name__,))
            if again.fetchone() is None:
                step(db)
                db.execute("INSERT INTO migration VALUES (?, ?)", (step.__name__, time.time()))
                ran.append(step.__name__)
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
    return ran
