"""One answer out of several kinds: while others have good hits, none fills it alone."""

# ruff: noqa: S608 - only marks for values are put into statements

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from kb.filters import PLACES, Condition

GOOD = 0.5
"""A hit is good whose score is at least this share of the best."""

SHARE_OF_TWO = 0.6
"""One kind takes no more of the places while another one has good hits; of three kinds, half."""

SHARE_OF_MORE = 0.5

_PLACE_OF = {origin: place for place, origins in PLACES.items() for origin in origins}


class Scored(Protocol):
    """What has a score, the best the highest."""

    @property
    def score(self) -> float: ...


One = TypeVar("One", bound=Scored)


def choose(ranked: Sequence[tuple[str, One]], limit: int, take: Callable[[One], bool]) -> list[One]:
    """Choose `limit` of what is ranked, each with its kind, the best first. `take` is asked in the
    order of choice and refuses what stands there already.

    Good ones go in by their rank, but no kind beyond its share. What places are left then go to the
    best of the others, whatever their kind.
    """
    if not ranked:
        return []
    good = GOOD * ranked[0][1].score
    kinds = {kind for kind, one in ranked if one.score >= good}
    share = {1: 1.0, 2: SHARE_OF_TWO}.get(len(kinds), SHARE_OF_MORE)
    most = max(1, int(share * limit))
    counts: Counter[str] = Counter()
    chosen: dict[int, One] = {}
    put_off: list[tuple[int, One]] = []
    for rank, (kind, one) in enumerate(ranked):
        if len(chosen) == limit:
            break
        if one.score < good or counts[kind] >= most:
            put_off.append((rank, one))
        elif take(one):
            counts[kind] += 1
            chosen[rank] = one
    for rank, one in put_off:
        if len(chosen) == limit:
            break
        if take(one):
            chosen[rank] = one
    return [chosen[rank] for rank in sorted(chosen)]


def name_place(origin: str) -> str:
    """Return the kind of an origin, as `in:` names it."""
    return _PLACE_OF.get(origin, origin)


def read_kinds(db: sqlite3.Connection, source_ids: Iterable[int]) -> Mapping[int, str]:
    """Read of what kind sources are."""
    ids = tuple(set(source_ids))
    rows = db.execute(
        f"SELECT id, origin FROM source WHERE id IN ({', '.join('?' * len(ids))})", ids
    )
    return {source_id: name_place(origin) for source_id, origin in rows}


def find_unseen(db: sqlite3.Connection, kinds: Iterable[str], where: Condition) -> Condition | None:
    """Return the condition of whatever is of no kind that was seen; None where nothing is."""
    seen = [origin for kind in set(kinds) for origin in PLACES.get(kind, (kind,))]
    marks = ", ".join("?" * len(seen))
    others = Condition(f"{where.sql} AND s.origin NOT IN ({marks})", (*where.values, *seen))
    found = db.execute(f"SELECT 1 FROM source s WHERE s.origin NOT IN ({marks}) LIMIT 1", seen)
    return None if found.fetchone() is None else others
