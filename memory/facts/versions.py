"""What the search has of facts: the texts of each path of "main" since it was last empty. A mark
tells news from what was read before."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PATHS_AT_ONCE = 500
"""SQLite takes no more values than some thousand in one statement."""


@dataclass(frozen=True, slots=True)
class FactVersion:
    """A text that stood at a path, and who wrote it when. `expires_at` is when the path is left."""

    path: str
    title: str
    text: str
    tags: tuple[str, ...]
    agent: str
    session: str
    at: float
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class News:
    """The paths of "main" that changed after a mark, and the mark that comes next; `left` counts
    the changes after that one."""

    paths: tuple[str, ...]
    mark: str
    left: int


def read_mark(db: sqlite3.Connection) -> str:
    """Return the mark of what is there now: it differs after each change, erasing and restore."""
    row = db.execute("SELECT seq, at FROM change ORDER BY seq DESC LIMIT 1").fetchone()
    seq, at = row or (0, 0.0)
    return _write_mark(seq, at, _count_erased(db))


def count_erased(mark: str) -> str:
    """Return how many texts had been erased at a mark."""
    return mark.rpartition(" ")[2]


def read_news(db: sqlite3.Connection, mark: str, limit: int) -> News | None:
    """Read what changed after a mark, at most `limit` changes. None where the mark is of another
    history, or a text was erased since: then everything is to be compared."""
    seq, _, rest = mark.partition(" ")
    if not seq.isdecimal():
        return None
    found = db.execute("SELECT at FROM change WHERE seq = ?", (int(seq),)).fetchone()
    at = found[0] if found else 0.0
    if (found is None and int(seq)) or f"{at!r} {_count_erased(db)}" != rest:
        return None
    rows = db.execute(
        "SELECT seq, at, branch, path FROM change WHERE seq > ? ORDER BY seq LIMIT ?",
        (int(seq), limit),
    ).fetchall()
    if not rows:
        return News((), mark, 0)
    seq, at, *_ = rows[-1]
    (left,) = db.execute("SELECT count(*) FROM change WHERE seq > ?", (seq,)).fetchone()
    paths = dict.fromkeys(path for _, _, branch, path in rows if branch == "main")
    return News(tuple(paths), _write_mark(seq, at, _count_erased(db)), left)


def list_standing(db: sqlite3.Connection, *, now: float) -> list[str]:
    """List the paths of "main" at which something stands, the newest first."""
    rows = db.execute(
        "SELECT path FROM live WHERE expires_at IS NULL OR expires_at > ? ORDER BY seq DESC", (now,)
    )
    return [path for (path,) in rows]


def read_versions(
    db: sqlite3.Connection, paths: Sequence[str], *, now: float
) -> Mapping[str, list[FactVersion]]:
    """Read the texts of paths, the oldest first, without those that were erased. A path at which
    nothing stands has none."""
    found: dict[str, list[FactVersion]] = {path: [] for path in paths}
    for begin in range(0, len(paths), PATHS_AT_ONCE):
        part = paths[begin : begin + PATHS_AT_ONCE]
        marks = ", ".join("?" * len(part))
        rows = db.execute(f"{_VERSIONS} AND l.path IN ({marks}) ORDER BY c.seq", (now, *part))
        last: dict[str, int] = {}
        for row, path, title, text, tags, *rest in rows:
            if last.get(path) != row:  # who merges or imports the same again says nothing new
                last[path] = row
                version = FactVersion(path, title, text, tuple(json.loads(tags)), *rest)
                found[path].append(version)
    return found


_VERSIONS = """
SELECT f.id, c.path, f.title, f.body, f.tags, c.agent, c.session, c.at, l.expires_at
FROM live l
JOIN change c ON c.branch = 'main' AND c.path = l.path AND c.operation NOT IN ('pin', 'unpin')
    AND c.seq > coalesce((
        SELECT max(n.seq) FROM change n
        WHERE n.branch = 'main' AND n.path = l.path AND n.fact_id IS NULL
    ), 0)
JOIN fact f ON f.id = c.fact_id AND f.sha256 != x''
WHERE (l.expires_at IS NULL OR l.expires_at > ?)
"""


def is_less(db: sqlite3.Connection, mark: str) -> bool:
    """Tell whether something was taken away or replaced since a mark."""
    news = read_news(db, mark, 1)
    if news is None:
        return True
    row = db.execute(
        "SELECT 1 FROM change WHERE seq > ? AND branch = 'main'"
        " AND (fact_id IS NULL OR supersedes IS NOT NULL) LIMIT 1",
        (int(mark.partition(" ")[0]),),
    ).fetchone()
    return row is not None


def _count_erased(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM fact WHERE sha256 = x''").fetchone()[0])


def _write_mark(seq: int, at: float, erased: int) -> str:
    return f"{seq} {at!r} {erased}"
