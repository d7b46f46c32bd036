"""Chunks that are scored for a query: chosen by its rarer words, and weighed by BM25.

Scoring is what a search spends its time on, a hundred times what finding the chunks costs. The
rarest words together choose about as many chunks as are worth it; the others count in those chunks
in full. A chunk that has none of the rarer words could hardly have come first.

The index counts words and lengths over all that it holds. Among a part of it they are counted
again, as if there were no others. How often a phrase is in a chunk follows from its score.
"""

# ruff: noqa: S608 - only names and conditions fixed in this package are put into statements

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from math import log

from kb.filters import Chunks, Selection, match
from kb.query import Corrections, Pair, Query, near

WEIGHTS = "3.0, 2.0, 1.0, 0.5, 2.0"
"""Of leaf title, enclosing titles, text, parts of names, and label. On `benchmarks kb.quality` 1
for the parts gains code 0.002 of mean reciprocal rank and costs documents up to 0.005; 0.3 gains
documents up to 0.003 and costs code up to 0.005."""

SATURATION = 1.2
LENGTH_SHARE = 0.75
"""The constants k1 and b of FTS5, https://www.sqlite.org/fts5.html#the_bm25_function."""

LEAST_RARITY = 1e-6
"""Of a word that most chunks have, as in FTS5."""

_ENDLESS = ", ".join(["1e12"] * 5)
"""With these weights the frequency counts as infinite: the score is only the word's rarity."""

_SAMPLED = 2000
"""If there are more chunks, the mean length is taken from this many, evenly spread."""

_AT_ONCE = 500


def rarity(count: int, size: int) -> float:
    """Return the weight of a word that `count` of `size` chunks have, by FTS5's formula."""
    return max(log((size - count + 0.5) / (count + 0.5)), LEAST_RARITY)


class SelectedScores:
    """Scores of the chunks of a selection."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._mean = _mean_length(selection)
        self._means = {table: _mean_of_table(selection.db, table) for table in selection.tables}
        self._known: dict[tuple[str, str], float] = {}

    def score(self, phrases: Iterable[str], ids: Set[int]) -> dict[int, float]:
        """Score some chunks by how often each has these phrases; those with none are left out."""
        scores: dict[int, float] = {}
        for phrase in phrases:
            for table in self._selection.tables:
                parts = self._read_scores(table, phrase, ids, f"/ -bm25({table}, {_ENDLESS})")
                self._add(scores, table, phrase, parts)
        return scores

    def score_pairs(self, pairs: Iterable[Pair], ids: Set[int]) -> dict[int, float]:
        """Score some chunks by how often each has these words near each other.

        The score of a pair is a sum over both words. One word's part is how much the score grows if
        the query has that word twice.
        """
        scores: dict[int, float] = {}
        for pair in pairs:
            having = ids & self._selection.find(pair[0]) & self._selection.find(pair[1])
            for table in self._selection.tables:
                both = self._read_scores(table, near(*pair), having)
                for word, other in (pair, pair[::-1]) if both else ():
                    most = self._most(table, word)
                    twice = self._read_scores(table, near(word, other, word), both)
                    parts = {
                        chunk_id: ((score - both[chunk_id][0]) / most, length)
                        for chunk_id, (score, length) in twice.items()
                    }
                    self._add(scores, table, word, parts)
        return scores

    def _most(self, table: str, phrase: str) -> float:
        """Return the highest possible score of a phrase that occurs among all chunks of a table."""
        if (table, phrase) not in self._known:
            row = self._selection.db.execute(
                f"SELECT -bm25({table}, {_ENDLESS}) FROM {table} WHERE {table} MATCH ? LIMIT 1",
                (phrase,),
            ).fetchone()
            self._known[table, phrase] = float(row[0])
        return self._known[table, phrase]

    def _read_scores(
        self, table: str, expression: str, ids: Collection[int], by: str = ""
    ) -> dict[int, tuple[float, int]]:
        """Read the index's score of each matching chunk, divided `by` another, and its length in
        words."""
        columns = (
            f", -bm25({table}, {WEIGHTS}) {by},"
            f" (SELECT sz FROM {table}_docsize WHERE id = {table}.rowid)"
        )
        rows = match(self._selection.db, table, expression, ids, columns)
        return {chunk_id: (score, sum(_read_varints(sizes))) for chunk_id, score, sizes in rows}

    def _add(
        self,
        scores: dict[int, float],
        table: str,
        phrase: str,
        parts: Mapping[int, tuple[float, int]],
    ) -> None:
        """Add a phrase's score to each chunk's. It is given as a share of the highest possible
        score: f / (f + d), for the frequency f and a damping d by the chunk's length."""
        found = len(self._selection.find(phrase))
        most = rarity(found, self._selection.size) * (SATURATION + 1)
        mean = self._means[table]
        for chunk_id, (part, length) in parts.items():
            frequency = _damping(length, mean) * part / (1 - part)
            here = frequency / (frequency + _damping(length, self._mean))
            scores[chunk_id] = scores.get(chunk_id, 0.0) + most * here


def _damping(length: int, mean: float) -> float:
    return SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / mean)


def _mean_of_table(db: sqlite3.Connection, table: str) -> float:
    """Return the mean length of all rows in words. The table stores their number, then the words of
    each column; https://www.sqlite.org/fts5.html#fts5_data_structures."""
    (record,) = db.execute(f"SELECT block FROM {table}_data WHERE id = 1").fetchone()
    rows, *words = _read_varints(record) or (1, 1)  # it is empty until there is a row
    return sum(words) / max(rows, 1)


def _mean_length(selection: Selection) -> float:
    """Return the mean length of the selected chunks in words."""
    ids = sorted(selection.sources)
    ids = ids[:: -(-len(ids) // _SAMPLED) or 1]
    lengths = [
        sum(_read_varints(sizes))
        for at in range(0, len(ids), _AT_ONCE)
        for sizes in _sizes(selection, ids[at : at + _AT_ONCE])
    ]
    return sum(lengths) / len(lengths) if lengths else 1.0


def _sizes(selection: Selection, ids: list[int]) -> Iterator[bytes]:
    marks = ", ".join("?" * len(ids))
    for table in selection.tables:
        rows = selection.db.execute(f"SELECT sz FROM {table}_docsize WHERE id IN ({marks})", ids)
        yield from (sizes for (sizes,) in rows)


def _read_varints(data: bytes) -> list[int]:
    """Decode SQLite's packed numbers: seven bits a byte, highest first; none has nine bytes."""
    numbers = []
    number = 0
    for byte in data:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    return numbers


CANDIDATES = 800
CANDIDATES_SHARE = 25
"""The limit on all matches of the choosing words together: this number, or one in this many chunks
if that is more. On `benchmarks kb.quality` half of it costs 0.01 of mean reciprocal rank; more
gains nothing."""

ENOUGH = 20
"""However common the words are, more are used for choosing until this many chunks are found."""

FEW = 20
"""With fewer chunks a word's rarity means nothing."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The words that choose the chunks for a query, numbered from 0 in the order of the query."""

    query: Query
    corrections: Corrections
    groups: Sequence[str]  # an expression a word
    pairs: tuple[Pair, ...]  # the words that count more if they are near each other
    choosing: tuple[int, ...]  # the words that choose
    others: tuple[int, ...]  # the rest, without those that occur nowhere
    expression: str
    """A full-text expression: any of the choosing words, scored by all words. The index looks for
    the others only in chunks that the first part found."""
    times: int
    """The number of times that each word counts in a score by the expression. With others it is 2:
    the choosing words are in both parts, the others twice in the second part."""
    weight: float
    """The sum of the rarities of all words, including those that occur nowhere, excluding those
    that are too common to choose by: the score of a chunk that has each once. 0 for few chunks."""

    @property
    def choosing_words(self) -> tuple[str, ...]:
        return tuple(self.query.terms[at] for at in self.choosing)


def choose(chunks: Chunks, query: Query, corrections: Corrections, limit: int) -> Choice | None:
    """Choose words to find the best `limit` of `chunks`; None if no chunk has any of the words."""
    size = chunks.size
    most = max(CANDIDATES, size // CANDIDATES_SHARE)
    groups = query.groups(corrections)
    counts = [chunks.count(group, most + 1) for group in groups]
    counted = sorted((count, at) for at, count in enumerate(counts) if count)
    if not counted:
        return None
    total = 0
    choosing: list[int] = []
    for count, at in counted:
        if total >= max(ENOUGH, limit) and total + count > most:
            break
        total += count
        choosing.append(at)
    others = tuple(at for _, at in counted[len(choosing) :])
    choosing.sort()
    expression = " OR ".join(groups[at] for at in choosing)
    if others:
        rest = " OR ".join(groups[at] for at in (*others, *others))
        expression = f"({expression}) AND ({expression} OR {rest})"
    return Choice(
        query,
        corrections,
        groups,
        query.pairs(corrections),
        tuple(choosing),
        others,
        expression,
        times=2 if others else 1,
        weight=sum(rarity(n, size) for n in counts if n <= most) if size >= FEW else 0.0,
    )
