"""Distinctive terms: which words to search a source for."""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter

from kb.compression import decompress
from kb.query import STOP_WORDS

_TERM = re.compile(r"[^\W\d]\w{2,39}")
_MIN_CHUNKS = 3
_MAX_SHARE = 0.4
_IDENTIFIER = re.compile(r".*(?:_|[a-z][A-Z])")
_SAMPLE_CHUNKS = 2000


def distinctive(db: sqlite3.Connection, source_id: int, limit: int) -> list[str]:
    """Words in at least two chunks and at most 40 % of them, the rarer, longer and more
    identifier-like the better. Of very large sources the first 2,000 chunks are read."""
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
