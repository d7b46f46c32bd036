"""The words of past commits, by which the files that they changed are found."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from repomap.history import DEADLINE_S, History, read_history
from repomap.store import index_words, write_marks
from repomap.words import split_names

HISTORY_CHARS = 256 * 1024
"""Of the messages of one file's commits the latest count, so many characters of them."""

_HEAD, _FEWER, _SHALLOW = "head", "fewer", "shallow"


def update_history(
    db: sqlite3.Connection,
    root: Path,
    *,
    marks: Mapping[str, str],
    until: float,
    written: Collection[str] | None,
) -> History:
    """Add the commits behind the last known one, and index the words of those of each file that
    they touch, and of each that was `written` to the map; None is all of the map."""
    known = marks.get(_HEAD, "")
    deadline_s = max(1.0, min(DEADLINE_S, until - time.monotonic()))
    found = read_history(root, since=known, shallow=marks.get(_SHALLOW, ""), deadline_s=deadline_s)
    is_anew = found.is_anew or (not found.head and known != "")
    if is_anew:
        db.execute("DELETE FROM git_commit")
        db.execute("DELETE FROM commit_file")
    touched = set(written or ())
    for one in found.commits:
        words = split_names(one.message)
        db.execute("INSERT OR REPLACE INTO git_commit VALUES(?,?,?)", (one.sha, one.at, words))
        rows = [(path, one.sha) for path in one.paths]
        db.executemany("INSERT OR IGNORE INTO commit_file VALUES(?,?)", rows)
        touched.update(one.paths)
    files = dict(db.execute("SELECT path, id FROM file"))
    for path in sorted(files.keys() if is_anew or written is None else touched & files.keys()):
        _index(db, path, files[path])
    fewer = found.fewer if is_anew else found.fewer or marks.get(_FEWER, "")
    write_marks(db, [(_HEAD, found.head), (_FEWER, fewer), (_SHALLOW, found.shallow)])
    return replace(found, note="; ".join(filter(None, (found.note, fewer))))


def _index(db: sqlite3.Connection, path: str, file: int) -> None:
    """Index the messages of a file's commits, the latest of them."""
    rows = db.execute(
        "SELECT words FROM commit_file JOIN git_commit USING (sha) WHERE path = ?"
        " ORDER BY at DESC, sha DESC",
        (path,),
    )
    latest: list[str] = []
    left = HISTORY_CHARS
    for (words,) in rows:
        if len(words) > left:
            break
        left -= len(words)
        latest.append(words)
    index_words(db, file, "history", "\n".join(reversed(latest)))
