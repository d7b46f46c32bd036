"""What a mistyped word meant: the nearest word of the vocabulary, found through its trigrams."""

from __future__ import annotations

import sqlite3

from kb.query import quoted

_CANDIDATES = 200
_SHORTEST = 4


def corrections(db: sqlite3.Connection, terms: tuple[str, ...]) -> dict[str, str]:
    """For each term that occurs nowhere, the word most likely meant, where there is one."""
    found = {}
    for term in terms:
        if len(term) >= _SHORTEST and term.isalpha() and not _occurs(db, term):
            nearest = _nearest(db, term.lower())
            if nearest is not None:
                found[term] = nearest
    return found


def _occurs(db: sqlite3.Connection, term: str) -> bool:
    query = "SELECT 1 FROM chunk_fts WHERE chunk_fts MATCH ? LIMIT 1"
    return db.execute(query, (quoted(term),)).fetchone() is not None


def _nearest(db: sqlite3.Connection, typed: str) -> str | None:
    """The vocabulary's word within the allowed distance: nearest, then same initial, then the one
    that occurs most often."""
    allowed = 1 if len(typed) <= 5 else 2
    near = []
    for word in _candidates(db, typed):
        distance = edit_distance(typed, word, allowed)
        if distance <= allowed:
            near.append((distance, word[0] != typed[0], word))
    if not near:
        return None
    near.sort()
    best = [word for distance, other, word in near if (distance, other) == near[0][:2]]
    known = [word for word in best[:10] if _occurs(db, word)]
    return max(known, key=lambda word: _frequency(db, word), default=None)


def _candidates(db: sqlite3.Connection, typed: str) -> list[str]:
    """Words of about the same length that share the most trigrams with `typed`."""
    trigrams = {typed[at : at + 3] for at in range(len(typed) - 2)}
    rows = db.execute(
        "SELECT text FROM word_fts WHERE word_fts MATCH ? AND length(text) BETWEEN ? AND ?"
        " ORDER BY rank LIMIT ?",
        (
            " OR ".join(quoted(trigram) for trigram in sorted(trigrams)),
            len(typed) - 2,
            len(typed) + 2,
            _CANDIDATES,
        ),
    )
    return [text for (text,) in rows]


def _frequency(db: sqlite3.Connection, word: str) -> int:
    query = "SELECT count(*) FROM chunk_fts WHERE chunk_fts MATCH ?"
    return int(db.execute(query, (quoted(word),)).fetchone()[0])


def edit_distance(a: str, b: str, limit: int) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours from `a` to `b`.

    Optimal string alignment; stops early with `limit` + 1 where the distance exceeds it.
    """
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        earlier, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return row[-1]
