"""The stems of words, by the tokenizer that indexes them."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable

from kb.schema import TOKENIZER


class Stemmer:
    """A small index in memory, made when it is first asked. For one thread at a time."""

    def __init__(self) -> None:
        self._db: sqlite3.Connection | None = None

    def stem(self, texts: Iterable[Iterable[str]]) -> list[frozenset[str]]:
        """Return the stems of the words of each text."""
        db = self._db = self._db or _make_index()
        stems = defaultdict[int, set[str]](set)
        rows = list(enumerate(" ".join(text) for text in texts))
        db.execute("BEGIN")
        try:
            db.executemany("INSERT INTO text (rowid, body) VALUES (?, ?)", rows)
            for term, number in db.execute("SELECT DISTINCT term, doc FROM stem"):
                stems[number].add(term)
        finally:
            db.execute("ROLLBACK")
        return [frozenset(stems[number]) for number, _ in rows]

    def close(self) -> None:
        """Free its memory; safe to call twice."""
        if self._db is not None:
            self._db.close()
            self._db = None


def _make_index() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute(f'CREATE VIRTUAL TABLE text USING fts5(body, tokenize = "{TOKENIZER}")')
    db.execute("CREATE VIRTUAL TABLE stem USING fts5vocab('text', 'instance')")
    return db
