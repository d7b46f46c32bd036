"""The tables of a file of facts, `tables.sql`. `base.stores.migrate` runs `STEPS`.

Times are seconds since the epoch. Rows are only added to `change`; each is the whole state of its
path from then on. `live` is the state of the branch "main" after all of them.
"""

from __future__ import annotations

import sqlite3

from base.stores import Step, run_script
from kb import TOKENIZER
from memory.facts.ledger import replay

# `near`: the words of the facts written just before and after in the same session.
INDEX = f"""
CREATE VIRTUAL TABLE live_fts USING fts5(
    title, tags, path, body, parts, near, tokenize = "{TOKENIZER}"
)
"""
"""The index of live facts; a branch's own is built from it for one query."""


def create_tables(db: sqlite3.Connection) -> None:
    """Create the tables of the first release."""
    run_script(db, __file__, "tables.sql")
    db.execute(INDEX)


def add_neighbours(db: sqlite3.Connection) -> None:
    """Index each fact with its day and the words of its neighbours."""
    run_script(db, __file__, "neighbours.sql")
    replay(db)


STEPS: tuple[Step, ...] = (create_tables, add_neighbours)
