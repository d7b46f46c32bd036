"""A store in memory, for what is read of a transcript and not kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager

from memory.sessions.importers.importer import Importer
from memory.sessions.importing import Importing
from memory.sessions.preparing import Prepared
from memory.sessions.schema import create_tables
from memory.sessions.writing import Writer


@contextmanager
def write_in_memory(
    importing: Importing, importer: Importer, prepared: Iterable[Prepared]
) -> Iterator[sqlite3.Connection]:
    """Write records of a host's into tables that are gone after the block."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        create_tables(db)
        writer = Writer(
            db,
            importer.agent,
            now=0.0,
            home=importing.home,
            keys_are_global=importer.keys_are_global,
        )
        writer.write(prepared)
        writer.finish()
        yield db
