"""Correction of mistyped words: the nearest words of the vocabulary, found through its trigrams."""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator

from kb import words
from kb.compression import decompress
from kb.filters import Chunks
from kb.query import STOP_WORDS, quote

_TERM = re.compile(r"[^\W\d]\w{2,39}")
_MIN_CHUNKS = 3
_MAX_SHARE = 0.4
_IDENTIFIER = re.compile(r".*(?:_|[a-z][A-Z])")
_SAMPLE_CHUNKS = 2000


def distinctive(db: sqlite3.Connection, source_id: int, limit: int) -> list[str]:
    """Return words in 2 chunks to 40 % of them; rare, long and identifier-like ones first. Of very
    large sources the first 2,000 chunks are read."""
    rows = db.execute(
        "SELECT body FROM chunk WHERE source_id = ? ORDER BY start_byte LIMIT ?",
        (source_id, _SAMPLE_CHUNKS),
    ).fetchall()
    if len(rows) < _MIN_CHUNKS:
        return []
    counts: Counter[str] = Counter()
    for (body,) in rows:
        found = _TERM.findall(decompress(body))
        counts.update({word for word in found if word.lower() not in STOP_WORDS})
    most = max(_MIN_CHUNKS, _MAX_SHARE * len(rows))
    scored = [
        (_score(word, count, len(rows)), word)
        for word, count in counts.items()
        if 2 <= count <= most
    ]
    scored.sort(key=lambda pair: (-pair[0], pair[1]))
    return [word for _, word in scored[:limit]]


def _score(word: str, count: int, chunks: int) -> float:
    rarity = math.log(chunks / count)
    return rarity + min(len(word), 20) / 20 + (1.5 if _IDENTIFIER.match(word) else 0.0)


_CANDIDATES = 200
_SHORTEST = 4
_ONE_EDIT = 5
"""Of words up to this long two edits leave too little, and half of one has no trigram."""

_TRIGRAM = 3
_ALTERNATIVES = 3
_RARE = 2
"""A word in no more chunks than this may itself be a typing mistake."""

_FAR_MORE_COMMON = 30

_COUNTED = 1000
"""Words in more chunks than this are equally common."""


def corrections(
    db: sqlite3.Connection, chunks: Chunks, terms: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Return the words most likely meant for each term that hardly occurs in `chunks`, if there are
    any: the nearest ones that do occur."""
    found = {}
    for term in terms:
        if len(term) < _SHORTEST or (not term.isascii() and words.is_unspaced(term)):
            continue
        frequency = chunks.count(quote(term), _RARE + 1)
        common = _FAR_MORE_COMMON * frequency
        # Among fewer chunks no word is so much more common: there is nothing to look for.
        if frequency > _RARE or chunks.size < common:
            continue
        nearest = _nearest(db, chunks, term.lower())
        if frequency:
            nearest = tuple(word for word in nearest if chunks.count(quote(word), common) == common)
        if nearest:
            found[term] = nearest
    return found


def _nearest(db: sqlite3.Connection, chunks: Chunks, typed: str) -> tuple[str, ...]:
    """Return the words of `chunks` at the smallest distance, if that is allowed: those with the
    same initial before others, then those that occur most often."""
    if not typed.isalpha():
        return ()
    for near in _find_near(db, typed):
        frequent = [
            (place, -count, word)
            for *place, word in near
            if (count := chunks.count(quote(word), _COUNTED)) and chunks.has_word(word)
        ]
        if frequent:
            least = min(frequent)[0]
            meant = [word for place, _, word in sorted(frequent) if place == least]
            return tuple(meant[:_ALTERNATIVES])
    return ()


def _find_near(db: sqlite3.Connection, typed: str) -> Iterator[list[tuple[int, bool, str]]]:
    """Yield near words of the vocabulary, those one edit away first."""
    if len(typed) <= _ONE_EDIT:
        yield _within(typed, _short(db, typed) | _alike(db, typed), 1)
    else:
        yield _within(typed, _one_edit_away(db, typed), 1)
        yield _within(typed, _alike(db, typed), 2)


def _within(typed: str, words: set[str], allowed: int) -> list[tuple[int, bool, str]]:
    """Return words at most `allowed` edits away: distance, whether the initial differs, word."""
    letters = set(typed)
    near = []
    for word in words:
        if len(letters.symmetric_difference(word)) > 2 * allowed:
            continue  # an edit changes no more than two letters of the set
        distance = edit_distance(typed, word, allowed)
        if 0 < distance <= allowed:
            near.append((distance, word[0] != typed[0], word))
    return near


def _one_edit_away(db: sqlite3.Connection, typed: str) -> set[str]:
    """Return the other words one edit away: an edit leaves the beginning or the end unchanged."""
    half = (len(typed) - 1) // 2
    rows = db.execute(
        "SELECT text FROM word_fts WHERE word_fts MATCH ? AND length(text) BETWEEN ? AND ?",
        (" AND ".join(_trigrams(typed[half + 1 :])), len(typed) - 1, len(typed) + 1),
    )
    return {text for (text,) in rows} | _beginning(db, typed[:half], len(typed))


def _short(db: sqlite3.Connection, typed: str) -> set[str]:
    """Return short words with the same first two letters, or the same first and last two: an edit
    leaves no trigram of a short word intact."""
    return _beginning(db, typed[:2], len(typed)) | _beginning(
        db, typed[:1], len(typed), ending=typed[-2:]
    )


def _beginning(
    db: sqlite3.Connection, beginning: str, length: int, *, ending: str = ""
) -> set[str]:
    """Return words of about this length with this beginning and ending."""
    rows = db.execute(
        "SELECT text FROM word WHERE text >= ? AND text < ? AND length(text) BETWEEN ? AND ?"
        " AND substr(text, length(text) + 1 - ?) = ?",
        (beginning, beginning + "\U0010ffff", length - 1, length + 1, len(ending), ending),
    )
    return {text for (text,) in rows}


def _alike(db: sqlite3.Connection, typed: str) -> set[str]:
    """Return words of about the same length that share the most trigrams with `typed`."""
    rows = db.execute(
        "SELECT text FROM word_fts WHERE word_fts MATCH ? AND length(text) BETWEEN ? AND ?"
        " ORDER BY rank LIMIT ?",
        (" OR ".join(_trigrams(typed)), len(typed) - 2, len(typed) + 2, _CANDIDATES),
    )
    return {text for (text,) in rows}


def _trigrams(text: str) -> list[str]:
    return sorted({quote(text[at : at + _TRIGRAM]) for at in range(len(text) - _TRIGRAM + 1)})


def edit_distance(a: str, b: str, limit: int) -> int:
    """Count insertions, deletions, substitutions and swaps of neighbours from `a` to `b`.

    Optimal string alignment; stops early with `limit` + 1 if the distance exceeds it.
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
