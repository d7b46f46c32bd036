"""The tables of a map. All of it is derived: a file of another form is made anew."""

from __future__ import annotations

import sqlite3

FORM = 3
"""Raised whenever what a map holds is found in another way."""

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
    """Make the tables, and an index of full text without content for each field."""
    for statement in _TABLES.split(";"):
        if statement.strip():
            db.execute(statement)
    for field in FIELDS:
        db.execute(
            f"CREATE VIRTUAL TABLE words_{field} USING fts5(words, content='',"
            " tokenize='porter unicode61 remove_diacritics 2')"
        )
