"""Facts that say nearly the same as a text, by the words that they share."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing

from kb.query import STOP_WORDS
from kb.schema import TOKENIZER
from kb.words import pairs
from memory.facts.model import MAIN, Fact, Similar, Written
from memory.facts.reading import find_at
from memory.facts.store import FactStore

SIMILAR_MAX = 5
OVERLAP_MIN = 0.5
_CANDIDATES = 20
_WORDS_MAX = 64
"""So many words choose the candidates, whose words are then all compared."""

_WORD = re.compile(r"[^\W_]+")
_OWN_MAX = 200
"""So many of a branch's own last changes are compared, which no index holds."""


def find_similar(store: FactStore, written: Written, branch: str = MAIN) -> tuple[Similar, ...]:
    """List the live facts whose stemmed words overlap those of a written one, the nearest first.

    The overlap is the part that two sets share of what they hold together.
    """
    now = store.clock()
    with store.database.reading() as db:
        own = find_at(db, branch, written.path)
        if own is None:
            return ()
        found = []
        for path in _find_candidates(db, own, branch):
            fact = find_at(db, branch, path)
            if fact and fact.id != own.id and (fact.expires_at is None or fact.expires_at > now):
                found.append(fact)
    overlaps = _compare(_text_of(own), [_text_of(fact) for fact in found])
    rated = [
        Similar(fact.id, fact.path, fact.text, round(overlap, 3))
        for fact, overlap in zip(found, overlaps, strict=True)
        if overlap >= OVERLAP_MIN
    ]
    return tuple(sorted(rated, key=lambda one: (-one.overlap, one.path))[:SIMILAR_MAX])


def write_similar(written: Written) -> str:
    """Write a sentence that names similar facts and how to replace one; empty without any."""
    if not written.similar:
        return ""
    lines = [f"- {one.id} {one.path} ({one.overlap:.0%})" for one in written.similar]
    first = written.similar[0].id
    return "\n".join(
        [
            "These facts say nearly the same:",
            *lines,
            f"To replace one, write the text again with `--supersedes {first}`.",
        ]
    )


def _find_candidates(db: sqlite3.Connection, own: Fact, branch: str) -> list[str]:
    words = _find_rarest(db, _words_of(_text_of(own)))
    if not words:
        return []
    query = " OR ".join(f'"{word}"' for word in words)
    rows = db.execute(
        "SELECT l.path FROM live_fts JOIN live l ON l.id = live_fts.rowid"
        " WHERE live_fts MATCH ? AND l.path != ? ORDER BY rank LIMIT ?",
        (f"{{title body parts}} : ({query})", own.path, _CANDIDATES),
    ).fetchall()
    if branch != MAIN:
        rows += db.execute(
            "SELECT path FROM change WHERE branch = ? AND path != ? GROUP BY path"
            " ORDER BY max(seq) DESC LIMIT ?",
            (branch, own.path, _OWN_MAX),
        ).fetchall()
    return list(dict.fromkeys(path for (path,) in rows))


def _find_rarest(db: sqlite3.Connection, words: set[str]) -> list[str]:
    """Return the words that the fewest facts have, more than half of them: what shares half of all
    words has one of these, and the frequent ones would find everything."""
    by_stem: dict[str, str] = {}
    for word, stems in zip(words, _stem([[word] for word in words]), strict=True):
        by_stem.update(dict.fromkeys(stems, word))
    db.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.live_stem USING fts5vocab(main, live_fts, row)"
    )
    rows = db.execute(
        "SELECT term, doc FROM live_stem WHERE term IN (SELECT value FROM json_each(?))",
        (json.dumps([*by_stem]),),
    )
    counts = dict(rows)
    rarest = sorted(by_stem, key=lambda stem: (counts.get(stem, 0), stem))
    return [by_stem[stem] for stem in rarest[: len(rarest) // 2 + 1]][:_WORDS_MAX]


def _compare(text: str, others: Sequence[str]) -> list[float]:
    """Return how much of their words a text shares with each of the others."""
    own, *rest = _stem([_words_of(one) for one in (text, *others)])
    return [len(own & one) / max(len(own | one), 1) for one in rest]


def _stem(texts: Sequence[Iterable[str]]) -> list[frozenset[str]]:
    """Return the stems of the words of texts, by the tokenizer that indexes them."""
    stems = defaultdict(set)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.execute(f'CREATE VIRTUAL TABLE text USING fts5(body, tokenize = "{TOKENIZER}")')
        db.execute("CREATE VIRTUAL TABLE stem USING fts5vocab('text', 'instance')")
        rows = ((number, " ".join(text)) for number, text in enumerate(texts))
        db.executemany("INSERT INTO text (rowid, body) VALUES (?, ?)", rows)
        for term, number in db.execute("SELECT DISTINCT term, doc FROM stem"):
            stems[number].add(term)
    return [frozenset(stems[number]) for number in range(len(texts))]


def _words_of(text: str) -> set[str]:
    """Return the words that tell something, or all if there are no such; of scripts without blanks
    each two neighbours."""
    words = {word for word in _split(text) if word not in STOP_WORDS} or set(_split(text))
    return words | set(pairs(text))


def _split(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _text_of(fact: Fact) -> str:
    return f"{fact.title}\n{fact.text}"
