"""Reading of facts and the ledger: the facts at a path or on a branch, and their authors.

Search has the texts of each path of "main" since it was last empty. A mark separates new changes
from those already read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from kb import storable_text
from memory.facts.model import (
    MAIN,
    Change,
    ClosedBranchError,
    Fact,
    UnknownBranchError,
    UnknownFactError,
    is_id,
    name_fact,
)

PATHS_AT_ONCE = 500
"""SQLite accepts only some thousand values in one statement."""

_VERSIONS = """
SELECT f.uid, c.path, f.title, f.body, f.tags, c.scope, c.branch, c.seq, c.at, c.agent, c.session,
    c.category, c.why, c.confidence, c.source, l.expires_at, c.pinned, f.sha256
FROM live l
JOIN change c ON c.branch = 'main' AND c.path = l.path AND c.operation NOT IN ('pin', 'unpin')
    AND c.seq > coalesce((
        SELECT max(n.seq) FROM change n
        WHERE n.branch = 'main' AND n.path = l.path AND n.fact_id IS NULL
    ), 0)
JOIN fact f ON f.id = c.fact_id AND f.sha256 != x''
WHERE (l.expires_at IS NULL OR l.expires_at > ?)
"""

# The newest change of each path that the branch sees: its own, else that of its ancestors, up to
# where it was created.
_LINEAGE = """
WITH RECURSIVE lineage (name, upto, depth) AS (
    SELECT ?1, 9223372036854775807, 0
    UNION ALL
    SELECT b.parent, min(b.fork_seq, lineage.upto), lineage.depth + 1
    FROM branch b JOIN lineage ON b.name = lineage.name WHERE b.parent IS NOT NULL
),
seen (path, seq) AS (
    SELECT path, seq FROM (
        SELECT c.path AS path, c.seq AS seq,
            row_number() OVER (PARTITION BY c.path ORDER BY l.depth, c.seq DESC) AS place
        FROM lineage l JOIN change c ON c.branch = l.name AND c.seq <= l.upto
        {condition}
    ) WHERE place = 1
)
"""
# Pinning a fact does not make its author: `w` is the change that wrote it.
_ROWS_AND_GAPS = """
SELECT f.uid, c.path, f.title, f.body, f.tags, c.scope, c.branch, c.seq, w.at, w.agent, w.session,
    w.category, w.why, c.confidence, c.source, c.expires_at, c.pinned, f.sha256
FROM {table} s JOIN change c ON c.seq = s.seq LEFT JOIN fact f ON f.id = c.fact_id
JOIN change w ON w.seq = CASE WHEN c.operation NOT IN ('pin', 'unpin') THEN c.seq ELSE (
    SELECT max(o.seq) FROM change o WHERE o.fact_id = c.fact_id AND o.path = c.path
        AND o.seq < c.seq AND o.operation NOT IN ('pin', 'unpin')
) END
"""
_ROWS = _ROWS_AND_GAPS.replace("LEFT JOIN", "JOIN")
_OWN = "(SELECT max(seq) AS seq FROM change WHERE branch = ? AND seq <= ? GROUP BY path)"
_FACT_FIELDS = tuple(field.name for field in fields(Fact))
_CHANGES = """
SELECT c.branch, c.path, coalesce(f.uid, ''), c.operation, c.at, c.agent, c.session, c.scope,
    c.category, c.why, c.confidence, c.source, c.expires_at, coalesce(o.uid, ''), c.pinned,
    c.seq, coalesce(f.title, ''), coalesce(f.body, '')
FROM change c LEFT JOIN fact f ON f.id = c.fact_id LEFT JOIN fact o ON o.id = c.supersedes
"""


def read_mark(db: sqlite3.Connection) -> str:
    """Return the mark of the present state: it differs after each change, erasure and restore."""
    row = db.execute("SELECT seq, at FROM change ORDER BY seq DESC LIMIT 1").fetchone()
    seq, at = row or (0, 0.0)
    return _write_mark(seq, at, _count_erased(db))


def count_erased(mark: str) -> str:
    """Return the number of texts erased until a mark."""
    return mark.rpartition(" ")[2]


def read_news(
    db: sqlite3.Connection, mark: str, limit: int
) -> tuple[tuple[str, ...], str, int] | None:
    """Read the changes after a mark, up to `limit`: the paths of "main", the next mark, and the
    number of changes after it. None if the mark has another history, or a text was erased since:
    then everything must be compared."""
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
        return (), mark, 0
    seq, at, *_ = rows[-1]
    (left,) = db.execute("SELECT count(*) FROM change WHERE seq > ?", (seq,)).fetchone()
    paths = dict.fromkeys(path for _, _, branch, path in rows if branch == "main")
    return tuple(paths), _write_mark(seq, at, _count_erased(db)), left


def list_standing(db: sqlite3.Connection, *, now: float) -> list[str]:
    """List the paths of "main" that have a fact, the newest first."""
    rows = db.execute(
        "SELECT path FROM live WHERE expires_at IS NULL OR expires_at > ? ORDER BY seq DESC", (now,)
    )
    return [path for (path,) in rows]


def read_versions(
    db: sqlite3.Connection, paths: Sequence[str], *, now: float
) -> Mapping[str, list[Fact]]:
    """Read the facts that were at paths, the oldest first, without the erased ones. Facts that left
    their path are expired. Paths without a fact now are omitted."""
    found: dict[str, list[Fact]] = {path: [] for path in paths}
    for begin in range(0, len(paths), PATHS_AT_ONCE):
        part = paths[begin : begin + PATHS_AT_ONCE]
        marks = ", ".join("?" * len(part))
        rows = db.execute(f"{_VERSIONS} AND l.path IN ({marks}) ORDER BY c.seq", (now, *part))
        last: dict[str, str] = {}
        for fact in (_make_fact(row, MAIN) for row in rows):
            if last.get(fact.path) != fact.id:  # repeating a merge makes no new version
                last[fact.path] = fact.id
                found[fact.path].append(fact)
    return found


def is_less(db: sqlite3.Connection, mark: str) -> bool:
    """Return whether a fact was removed or replaced since a mark."""
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


def unknown_branch(name: str) -> UnknownBranchError:
    """Build the error for a branch that does not exist."""
    return UnknownBranchError(
        f"no branch {name[:80]!r}",
        "List them: context-mode memory branch",
    )


def require_branch(db: sqlite3.Connection, name: str, *, writes: bool = False) -> None:
    """Check that a branch exists; with `writes`, that it is open.

    Raises:
        UnknownBranchError: it does not exist, or is closed.
    """
    query = "SELECT state FROM branch WHERE name = ?"
    row = db.execute(query, (storable_text(name),)).fetchone()
    if row is None:
        raise unknown_branch(name)
    if writes and row[0] != "open":
        raise ClosedBranchError(
            f"branch {name!r} is {row[0]} and accepts no more writes",
            "Write to another branch, or create one.",
        )


def read_facts(
    db: sqlite3.Connection,
    branch: str = MAIN,
    *,
    now: float,
    prefix: str = "",
    expired: bool = False,
) -> Iterator[Fact]:
    """Yield the facts of a branch by path; only paths that begin with `prefix`. Expired facts are
    skipped; with `expired`, only they are yielded."""
    begins = "substr(c.path, 1, length(?)) = ?"
    prefix = storable_text(prefix)
    time = "c.expires_at <= ?" if expired else "(c.expires_at IS NULL OR c.expires_at > ?)"
    if branch == MAIN:
        query, given = _ROWS.format(table="live"), []
    else:
        query = _LINEAGE.format(condition="") + _ROWS.format(table="seen")
        given = [branch]
    rows = db.execute(
        f"{query} WHERE {begins} AND {time} ORDER BY c.path", (*given, prefix, prefix, now)
    )
    for row in rows:
        yield _make_fact(row, branch)


def read_own(db: sqlite3.Connection, branch: str, upto: int) -> Iterator[tuple[str, Fact | None]]:
    """Yield each path that a branch changed itself, with its fact after the change `upto`, expired
    or not; None if there is no fact."""
    for row in db.execute(_ROWS_AND_GAPS.format(table=_OWN), (branch, upto)):
        yield row[1], None if row[0] is None else _make_fact(row, branch)


def find_at(db: sqlite3.Connection, branch: str, path: str) -> Fact | None:
    """Return the fact at a path of a branch, expired or not; None if absent."""
    if branch == MAIN:
        return next(iter(read_live(db, "s.path = ?", (path,))), None)
    query = _LINEAGE.format(condition="WHERE c.path = ?") + _ROWS.format(table="seen")
    row = db.execute(query, (branch, path)).fetchone()
    return None if row is None else _make_fact(row, branch)


def find_fact(db: sqlite3.Connection, branch: str, wanted: str) -> Fact:
    """Return the fact of a branch by its path or its id.

    Raises:
        UnknownFactError: no current fact has it.
    """
    found = find_at(db, branch, _find_path(db, wanted))
    if found is None or wanted not in (found.path, found.id):
        raise UnknownFactError(
            f"no fact {wanted[:80]!r} on branch {branch}", "List them: context-mode memory list"
        )
    return found


def read_changes(  # noqa: PLR0913 - what may be asked for
    db: sqlite3.Connection,
    branch: str = "",
    *,
    path: str = "",
    prefix: str = "",
    after: int = 0,
    limit: int = -1,
) -> list[Change]:
    """List changes, the newest first: of one branch or of all, at one path, below `prefix`, after a
    number."""
    prefix = storable_text(prefix)
    conditions = {"c.branch = ?": branch, "c.path = ?": path}
    used = {text: value for text, value in conditions.items() if value}
    where = " AND ".join(["c.seq > ?", "substr(c.path, 1, length(?)) = ?", *used])
    rows = db.execute(
        f"{_CHANGES} WHERE {where} ORDER BY c.seq DESC LIMIT ?",
        (after, prefix, prefix, *used.values(), limit),
    )
    return [_make_change(row) for row in rows]


def find_newest(db: sqlite3.Connection) -> int:
    """Return the number of the newest change; 0 without changes."""
    return int(db.execute("SELECT coalesce(max(seq), 0) FROM change").fetchone()[0])


def read_history(db: sqlite3.Connection, wanted: str, branch: str = MAIN) -> list[Change]:
    """List the changes at a path that the branch sees, the newest first. The path is named by
    itself, a key, or the id of a fact that is or was there.

    Raises:
        BadInputError: the name has another form.
    """
    path = _find_path(db, name_fact(wanted))
    lineage = _LINEAGE.format(condition="WHERE c.path = ?2")
    rows = db.execute(
        f"{lineage} {_CHANGES} JOIN lineage l ON l.name = c.branch AND c.seq <= l.upto"
        " WHERE c.path = ?2 ORDER BY c.seq DESC",
        (branch, path),
    )
    return [_make_change(row) for row in rows]


def _find_path(db: sqlite3.Connection, name: str) -> str:
    """Return the path of a fact that is named by it or by the id; empty if unknown."""
    if not is_id(name):
        return storable_text(name)
    row = db.execute(
        "SELECT c.path FROM change c JOIN fact f ON f.id = c.fact_id WHERE f.uid = ?"
        " ORDER BY c.seq DESC LIMIT 1",
        (name,),
    ).fetchone()
    return row[0] if row else ""


def _make_fact(row: tuple[Any, ...], branch: str) -> Fact:
    values = dict(zip(_FACT_FIELDS, row, strict=True))
    values["tags"] = tuple(json.loads(values["tags"]))
    values["is_pinned"] = bool(values["is_pinned"])
    values["sha256"] = values["sha256"].hex()
    return Fact(**{**values, "branch": branch})


def _make_change(row: tuple[Any, ...]) -> Change:
    change = Change(*row)
    return replace(change, is_pinned=bool(change.is_pinned))


def read_live(
    db: sqlite3.Connection, condition: str, given: Iterable[str | int | float]
) -> list[Fact]:
    """List the facts of "main" that meet a condition on `s`, the row of `live`."""
    rows = db.execute(f"{_ROWS.format(table='live')} WHERE {condition}", tuple(given))
    return [_make_fact(row, MAIN) for row in rows]


def read_by_change(db: sqlite3.Connection, seqs: Sequence[int], branch: str) -> dict[int, Fact]:
    """Read the facts of changes, without those erased in the meantime."""
    marks = ", ".join("?" * len(seqs))
    rows = db.execute(f"{_ROWS.format(table='change')} WHERE s.seq IN ({marks})", tuple(seqs))
    facts = [_make_fact(row, branch) for row in rows]
    return {fact.seq: fact for fact in facts if fact.sha256}
