"""Search: the facts that answer a query, without pinned ones first and without a budget."""

from __future__ import annotations

from collections.abc import Sequence

from memory.facts.model import MAIN
from memory.facts.ranking import Match, choose, find_matches
from memory.facts.reading import require_branch
from memory.facts.recalling import Recalled, read_matches
from memory.facts.store import FactStore


def search(  # noqa: PLR0913 - what may be asked for
    stores: Sequence[FactStore],
    query: str,
    *,
    prefix: str = "",
    branch: str = MAIN,
    is_exact: bool = False,
    limit: int = 50,
) -> list[Recalled]:
    """List what answers a query below `prefix`, the best first; with `is_exact` what holds it
    letter by letter."""
    found: list[Match] = []
    for number, store in enumerate(stores):
        with store.database.reading() as db:
            own = MAIN if number else branch
            require_branch(db, own)
            some, _ = find_matches(
                db, query, branch=own, now=store.clock(), is_exact=is_exact, store=number
            )
            found += some
    wanted = choose(match for match in found if match.path.startswith(prefix))
    return [
        Recalled(fact, fact.text, match.is_full_match, match.score, match.matched)
        for match, fact in read_matches(stores, wanted[: max(limit, 0)], branch)
    ]
