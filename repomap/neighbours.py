"""The files beside the best ones: what those import or use, and what imports them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from repomap.evidence import DEFINERS_MAX
from repomap.ranking import NEIGHBOUR, Ranked
from repomap.store import read_row
from repomap.words import is_code_like

BEST = 5
EACH_MAX = 6

_DEFINED = """
SELECT definer.file, reference.name, max(reference.count) AS times FROM reference
JOIN symbol AS definer ON definer.name = reference.name AND definer.kind != 'heading'
WHERE reference.file = ?1 AND definer.file != ?1
    AND (SELECT count(DISTINCT file) FROM symbol WHERE name = reference.name) <= ?2
GROUP BY definer.file, reference.name ORDER BY times DESC, definer.file, reference.name
"""


def find_neighbours(db: sqlite3.Connection, ranked: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """Return the neighbours of the best files, those of the best one first.

    What is not ranked itself has the score 0.
    """
    best = ranked[:BEST]
    known = {one.row.id: one for one in ranked}
    found: dict[int, None] = {}
    for one in best:
        near = list(dict.fromkeys(_list_near(db, one.row.id)))
        found |= dict.fromkeys(near[:EACH_MAX])
    for one in best:
        found.pop(one.row.id, None)
    return tuple(
        known.get(file) or Ranked(read_row(db, file), 0.0, ((NEIGHBOUR, 0.0),)) for file in found
    )


def _list_near(db: sqlite3.Connection, file: int) -> Iterator[int]:
    """Yield the files that one imports, that define what it uses, and that import it."""
    for (target,) in db.execute(
        "SELECT target FROM edge JOIN file ON file.id = target WHERE edge.file = ? ORDER BY path",
        (file,),
    ):
        yield target
    for definer, name, _ in db.execute(_DEFINED, (file, DEFINERS_MAX)):
        if is_code_like(name):
            yield definer
    for (by,) in db.execute(
        "SELECT edge.file FROM edge JOIN file ON file.id = edge.file WHERE target = ?"
        " ORDER BY path",
        (file,),
    ):
        yield by
