"""The tables of a store. `STEPS` are run by `base.stores.migrate`."""

# ruff: noqa: S608 - only names and conditions fixed in this file are put into statements

from __future__ import annotations

import sqlite3

from base.stores import Step
from kb import words
from kb.compression import SQL_NAME

TOKENIZER = "porter unicode61 remove_diacritics 2"

_SOURCES = """
CREATE TABLE source (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    label TEXT NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    language TEXT,
    origin TEXT NOT NULL,
    session TEXT,
    series TEXT,            -- makes sources with different labels versions of one thing
    path TEXT,
    met INTEGER NOT NULL DEFAULT 0, -- in a folder, so that it goes when git ignores it
    mtime_ns INTEGER,
    inode INTEGER,
    file_size INTEGER,
    sha256 BLOB,
    converted TEXT,         -- what was done to its bytes before they were stored
    redactions INTEGER NOT NULL DEFAULT 0,
    bytes_total INTEGER NOT NULL,
    bytes_indexed INTEGER NOT NULL,
    indexed_at REAL NOT NULL,
    expires_at REAL,
    pinned INTEGER NOT NULL DEFAULT 0,
    superseded_by INTEGER,
    unmoved_from INTEGER,   -- the first of its chunks that is still in the index of current ones
    UNIQUE (label, version)
);
CREATE INDEX source_path ON source (path) WHERE path IS NOT NULL;
CREATE INDEX source_expiry ON source (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX source_content ON source (sha256) WHERE inode IS NOT NULL;
CREATE INDEX source_series ON source (series) WHERE series IS NOT NULL;
CREATE INDEX source_unmoved ON source (unmoved_from) WHERE unmoved_from IS NOT NULL;
"""

_CHUNKS = """
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
);
CREATE INDEX chunk_source ON chunk (source_id, start_byte);
"""

# The parts of a spool still to be chunked; `state` is where in its structure the next begins.
_QUEUE = """
CREATE TABLE pending (
    id INTEGER PRIMARY KEY,
    source_id INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    spool TEXT NOT NULL,
    next_byte INTEGER NOT NULL,
    end_byte INTEGER NOT NULL,
    next_line INTEGER NOT NULL,
    state TEXT
);
"""

_CURRENT = "s.superseded_by IS NULL OR c.id >= s.unmoved_from"
_SUPERSEDED = "s.superseded_by IS NOT NULL AND (s.unmoved_from IS NULL OR c.id < s.unmoved_from)"
_VIEWS = (("current_chunk", _CURRENT), ("superseded_chunk", _SUPERSEDED))

# Older versions have a separate index, so that they never slow or skew a search.
_INDEXES = "".join(
    f"""
CREATE VIEW {view} AS
SELECT c.id, c.source_id, c.leaf, c.crumb, {SQL_NAME}(c.body) AS body, c.ident, s.label
FROM chunk c JOIN source s ON s.id = c.source_id
WHERE {condition};
CREATE VIRTUAL TABLE {table} USING fts5(
    leaf, crumb, body, ident, label,
    content='{view}', content_rowid='id', tokenize='{TOKENIZER}'
);
"""
    for table, (view, condition) in zip(("chunk_fts", "history_fts"), _VIEWS, strict=True)
)

# The words as written, with a trigram index, to find what a mistyped one meant.
_WORDS = """
CREATE VIRTUAL TABLE chunk_term USING fts5vocab(chunk_fts, 'row');
CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE VIRTUAL TABLE word_fts USING fts5(
    text, content='word', content_rowid='id', tokenize='trigram', detail='none'
);
"""

# When an address was fetched, and the validators that show whether it changed.
_PAGES = """
CREATE TABLE page (
    url_sha256 BLOB PRIMARY KEY,
    source_id INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    fetched_at REAL NOT NULL,
    title TEXT,
    etag TEXT,
    last_modified TEXT,
    final_sha256 BLOB NOT NULL
);
CREATE INDEX page_source ON page (source_id);
"""

_EVICTIONS = """
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
);
"""


def create_tables(db: sqlite3.Connection) -> None:
    """Create all tables, views and indexes of a new store."""
    for script in (_SOURCES, _CHUNKS, _QUEUE, _INDEXES, _WORDS, _PAGES, _EVICTIONS):
        for statement in script.split(";\n"):  # `executescript` would end the transaction
            db.execute(statement)


def split_names_in_titles(db: sqlite3.Connection) -> None:
    """Index titles and labels with the parts of the names in them from now on. Sources stay as they
    are until they are indexed again, as rebuilding the index of a large store takes minutes."""
    db.execute("ALTER TABLE source ADD COLUMN split_names INTEGER NOT NULL DEFAULT 0")
    columns = ", ".join(
        f"CASE WHEN s.split_names THEN {words.SQL_NAME}({column}) ELSE {column} END AS {name}"
        for column, name in (("c.leaf", "leaf"), ("c.crumb", "crumb"), ("s.label", "label"))
    )
    for view, condition in _VIEWS:
        db.execute(f"DROP VIEW {view}")
        db.execute(
            f"CREATE VIEW {view} AS SELECT c.id, c.source_id, {SQL_NAME}(c.body) AS body, c.ident,"
            f" {columns} FROM chunk c JOIN source s ON s.id = c.source_id WHERE {condition}"
        )


# How far external data was followed; who said a source, and when.
_MIRRORS = """
CREATE TABLE mirror (name TEXT PRIMARY KEY, upto TEXT NOT NULL) WITHOUT ROWID;
ALTER TABLE source ADD COLUMN author TEXT;
ALTER TABLE source ADD COLUMN said_at REAL
"""


def add_mirrors(db: sqlite3.Connection) -> None:
    """Add what `kb.mirrors` needs."""
    for statement in _MIRRORS.split(";\n"):
        db.execute(statement)


def mark_noise(db: sqlite3.Connection) -> None:
    """Keep earlier releases out, which can't read what `kb.compression` stores from here on."""


STEPS: tuple[Step, ...] = (create_tables, split_names_in_titles, add_mirrors, mark_noise)
