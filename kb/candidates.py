"""Which words of a query choose the chunks to be scored, so that common ones cost little.

Scoring is what a search spends its time on, a hundred times what finding the chunks costs. The
rarest words together choose about as many chunks as are worth it; the others count in those chunks
in full. A chunk that has none of the rarer words could hardly have come first.
"""

from __future__ import annotations

from dataclasses import dataclass

from kb.bm25 import rarity
from kb.query import Corrections, Pair, Query
from kb.selection import Chunks

CANDIDATES = 800
CANDIDATES_SHARE = 25
"""How many matches the choosing words may have together: so many, or one in so many chunks where
that is more. On `benchmarks kb.quality` half of it
costs 0.01 of mean reciprocal rank, more of it gains nothing."""

ENOUGH = 20
"""Words go on choosing, however common they are, until there are as many chunks to rank."""

FEW = 20
"""Among fewer chunks a word's rarity says nothing."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What chooses the chunks for a query. `choosing` and `others` are numbers of its words, from
    0 in their order; words that nothing has are in neither."""

    query: Query
    corrections: Corrections
    choosing: tuple[int, ...]
    others: tuple[int, ...]
    weight: float
    """The rarities of all words together, of those as well that nothing has, but not of those that
    are too common to choose by: what a chunk scores in which each is once. 0 of few chunks."""

    @property
    def choosing_words(self) -> tuple[str, ...]:
        return tuple(self.query.terms[at] for at in self.choosing)

    @property
    def expression(self) -> str:
        """Any of the choosing words, scored by all, in full-text syntax: the index looks for the
        others in chunks that the first part found alone. Where there are others, all count
        `times` over: the former because they stand in both parts, the latter because they stand
        in the second part twice."""
        groups = self.query.groups(self.corrections)
        choosing = [groups[at] for at in self.choosing]
        if not self.others:
            return " OR ".join(choosing)
        others = [groups[at] for at in self.others]
        return f"({' OR '.join(choosing)}) AND ({' OR '.join((*choosing, *others, *others))})"

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The words that count more where they stand near each other."""
        return self.query.pairs(self.corrections)

    @property
    def times(self) -> int:
        return 2 if self.others else 1


def choose(chunks: Chunks, query: Query, corrections: Corrections, limit: int) -> Choice | None:
    """What is to choose the best `limit` of `chunks`; None where they have none of the words."""
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
    return Choice(
        query,
        corrections,
        tuple(sorted(choosing)),
        tuple(at for _, at in counted[len(choosing) :]),
        sum(rarity(count, size) for count in counts if count <= most) if size >= FEW else 0.0,
    )
