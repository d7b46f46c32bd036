"""The tables of a file of facts, `tables.sql`. `STEPS` are run by `base.stores.migrate`.

Times are seconds since the epoch. `change` is only added to, and each row is the whole state of its
path from then on; `live` is what a replay of it gives for the branch "main".
"""

from __future__ import annotations

import sqlite3

from base.stores import Step, run_script
from kb import TOKENIZER
from memory.facts.ledger import replay

# `near` are the words of the facts that were written just before and after in the same session.
INDEX = f"""
CREATE VIRTUAL TABLE live_fts USING fts5(
    title, tags, path, body, parts, near, tokenize = "{TOKENIZER}"
)
"""
"""The index of what is live; a branch's own is made of it for the time of a query."""


def create_tables(db: sqlite3.Connection) -> None:
    """Make the tables of the first release."""
    run_script(db, __file__, "tables.sql")
    db.execute(INDEX)


def add_neighbours(db: sqlite3.Connection) -> None:
    """Index each fact with its day and the words of its neighbours."""
    run_script(db, __file__, "neighbours.sql")
    replay(db)


STEPS: tuple[Step, ...] = (create_tables, add_neighbours)
