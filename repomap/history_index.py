"""The words of past commits, by which the files that they changed are found."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from repomap.history import DEADLINE_S, History, read_history
from repomap.store import index_words, write_marks
from repomap.words import split_names

_HEAD = "head"


def update_history(
    db: sqlite3.Connection, root: Path, marks: Mapping[str, str], until: float, *, is_new: bool
) -> History:
    """Add the commits behind the last known one; where files came too, index their words."""
    known = marks.get(_HEAD, "")
    deadline_s = max(1.0, min(DEADLINE_S, until - time.monotonic()))
    found = read_history(root, since=known, deadline_s=deadline_s)
    if not found.head or found.is_anew:
        db.execute("DELETE FROM git_commit")
        db.execute("DELETE FROM commit_file")
    touched: set[str] = set()
    for one in found.commits:
        words = split_names(one.message)
        db.execute("INSERT OR REPLACE INTO git_commit VALUES(?,?,?)", (one.sha, one.at, words))
        rows = [(path, one.sha) for path in one.paths]
        db.executemany("INSERT OR IGNORE INTO commit_file VALUES(?,?)", rows)
        touched.update(one.paths)
    if is_new or found.is_anew or found.head != known:
        _index(db, None if is_new or found.is_anew or not found.head else touched)
        write_marks(db, [(_HEAD, found.head)])
    return found


def _index(db: sqlite3.Connection, paths: Collection[str] | None) -> None:
    """Index the messages of the files' commits; None means all files."""
    files = db.execute("SELECT path, id FROM file ORDER BY path").fetchall()
    for path, file in files:
        if paths is not None and path not in paths:
            continue
        rows = db.execute(
            "SELECT words FROM commit_file JOIN git_commit USING (sha) WHERE path = ?"
            " ORDER BY at, sha",
            (path,),
        )
        index_words(db, file, "history", "\n".join(words for (words,) in rows))
