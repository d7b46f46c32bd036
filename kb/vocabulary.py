"""What a mistyped word meant: the nearest words of the vocabulary, found through its trigrams."""

from __future__ import annotations

import sqlite3

from kb import words
from kb.query import quoted

_CANDIDATES = 200
_SHORTEST = 4
_SHORT = 6
_ALTERNATIVES = 3
_RARE = 2
"""A word in no more chunks than this may itself be a slip of the pen."""

_FAR_MORE_COMMON = 30


def corrections(db: sqlite3.Connection, terms: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """For each term that hardly occurs, the words most likely meant, where there are any: those
    nearest to it, else the parts of an identifier."""
    found = {}
    for term in terms:
        if len(term) < _SHORTEST or words.unspaced(term):
            continue
        frequency = _frequency(db, term, _RARE + 1)
        if frequency > _RARE:
            continue
        nearest = _nearest(db, term.lower())
        if frequency:
            nearest = tuple(
                word for word in nearest if _frequency(db, word) >= _FAR_MORE_COMMON * frequency
            )
        elif not nearest:
            parts = words.parts(term)
            nearest = tuple(part.lower() for part in parts) if len(parts) > 1 else ()
        if nearest:
            found[term] = nearest
    return found


def _frequency(db: sqlite3.Connection, word: str, limit: int = 1000) -> int:
    """In how many chunks a word occurs, as far as `limit`."""
    query = "SELECT count(*) FROM (SELECT 1 FROM chunk_fts WHERE chunk_fts MATCH ? LIMIT ?)"
    return int(db.execute(query, (quoted(word), limit)).fetchone()[0])


def _nearest(db: sqlite3.Connection, typed: str) -> tuple[str, ...]:
    """The vocabulary's words at the least distance, if it is an allowed one: those with the same
    initial before others, then those that occur most often."""
    if not typed.isalpha():
        return ()
    allowed = 1 if len(typed) <= 5 else 2
    near = []
    for word in _candidates(db, typed):
        distance = edit_distance(typed, word, allowed)
        if 0 < distance <= allowed:
            near.append((distance, word[0] != typed[0], word))
    if not near:
        return ()
    least = min(near)[:2]
    frequent = [(-_frequency(db, word), word) for *place, word in near if tuple(place) == least]
    return tuple(word for count, word in sorted(frequent) if count)[:_ALTERNATIVES]


def _candidates(db: sqlite3.Connection, typed: str) -> list[str]:
    """Words of about the same length that share the most trigrams with `typed`; for short ones,
    of which an edit may leave no trigram whole, also those that begin alike."""
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
    found = [text for (text,) in rows]
    if len(typed) <= _SHORT:
        rows = db.execute(
            "SELECT text FROM word WHERE text > ? AND text < ? AND length(text) BETWEEN ? AND ?",
            (typed[:2], typed[:2] + "\U0010ffff", len(typed) - 1, len(typed) + 1),
        )
        found.extend(text for (text,) in rows)
    return list(dict.fromkeys(found))


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
