"""Facts that say nearly the same as a text, by the words that they share."""

from __future__ import annotations

import heapq
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence

from kb.query import STOP_WORDS
from kb.words import pairs
from memory.facts.model import MAIN, Fact, Written
from memory.facts.reading import find_at, read_live
from memory.facts.store import FactStore

SIMILAR_MAX = 5
OVERLAP_MIN = 0.5
_CANDIDATES = 10
_WORDS_MAX = 16
"""Of a longer text so many words, the longest, choose what is compared with it in full."""

_FEW = 400
"""Words that more facts have are looked up only where the others are too few."""

_SPARE = 3
"""So many words more than needed are looked up: what shares but one of them is left out."""

_WORD = re.compile(r"[^\W_]+")
_OWN_MAX = 200
"""So many of a branch's own last changes are compared, which no index holds."""


def find_similar(
    store: FactStore, written: Written, branch: str = MAIN
) -> tuple[tuple[Fact, float], ...]:
    """List the live facts whose stemmed words overlap those of a written one, the nearest first,
    and the overlap.

    The overlap is the part that two sets share of what they hold together.
    """
    now = store.clock()
    with store.database.reading() as db:
        own = find_at(db, branch, written.path)
        if own is None:
            return ()
        words = list(_words_of(_text_of(own)))
        by_stem = {
            stem: word
            for word, stems in zip(words, store.stemmer.stem([one] for one in words), strict=True)
            for stem in stems
        }
        found = [
            fact
            for fact in _find_candidates(db, by_stem.values(), own, branch)
            if fact.id != own.id and (fact.expires_at is None or fact.expires_at > now)
        ]
    others = store.stemmer.stem(_words_of(_text_of(fact)) for fact in found) if found else []
    overlaps = [len(by_stem.keys() & one) / len(by_stem.keys() | one) for one in others]
    rated = [
        (fact, round(overlap, 3))
        for fact, overlap in zip(found, overlaps, strict=True)
        if overlap >= OVERLAP_MIN
    ]
    return tuple(sorted(rated, key=lambda one: (-one[1], one[0].path))[:SIMILAR_MAX])


def _find_candidates(
    db: sqlite3.Connection, words: Iterable[str], own: Fact, branch: str
) -> list[Fact]:
    """Read the facts that may share half of all words."""
    rows = _find_sharing(db, sorted(words, key=lambda word: (-len(word), word))[:_WORDS_MAX])
    if branch == MAIN:
        return read_live(db, "s.id IN (SELECT value FROM json_each(?))", [json.dumps(rows)])
    paths = db.execute(
        "SELECT path FROM live WHERE id IN (SELECT value FROM json_each(?1)) UNION SELECT path FROM"
        " (SELECT path FROM change WHERE branch = ?2 GROUP BY path"
        " ORDER BY max(seq) DESC LIMIT ?3)",
        (json.dumps(rows), branch, _OWN_MAX),
    )
    found = (find_at(db, branch, path) for (path,) in paths.fetchall() if path != own.path)
    return [fact for fact in found if fact]


def _find_sharing(db: sqlite3.Connection, words: Sequence[str]) -> list[int]:
    """Return the rows of `live` that may hold half of the words, those with most of the rarest.

    What holds half of them lacks no more than the other half: of so many words and a few more, the
    rarest, it holds those few at least. The frequent words, which find everything, are not needed.
    """
    lacked = len(words) // 2
    found = sorted((*_list_rows(db, word, _FEW), word) for word in words)[: lacked + _SPARE]
    counts = Counter[str]()
    for count, rows, word in found:
        counts.update((rows if count < _FEW else _list_rows(db, word, -1)[1]).split())
    sharing = [row for row, count in counts.items() if count >= len(found) - lacked]
    best = heapq.nlargest(_CANDIDATES + 1, sharing, key=lambda row: (counts[row], int(row)))
    return [int(row) for row in best]


def _list_rows(db: sqlite3.Connection, word: str, most: int) -> tuple[int, str]:
    """Count the facts that hold a word themselves, and list their rows, in one text: row by row it
    would take twice as long."""
    count, found = db.execute(
        "SELECT count(*), coalesce(group_concat(rowid, ' '), '') FROM"
        " (SELECT rowid FROM live_fts WHERE live_fts MATCH ? LIMIT ?)",
        (f'{{title body parts}} : "{word}"', most),
    ).fetchone()
    return count, found


def _words_of(text: str) -> set[str]:
    """Return the words that tell something, or all if there are no such; of scripts without blanks
    each two neighbours."""
    words = {word for word in _split(text) if word not in STOP_WORDS} or set(_split(text))
    return words | set(pairs(text))


def _split(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _text_of(fact: Fact) -> str:
    return f"{fact.title}\n{fact.text}"
