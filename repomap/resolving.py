"""Which files of the map import which others."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from base.plain_files import read_plain
from repomap.importing import MODULE_CHARS, Resolver
from repomap.store import read_files, read_imports

CONFIG_BYTES = 256 * 1024
TARGETS_MAX = 64
"""Files that one import may mean: a package of Go has some dozens."""


def resolve_all(db: sqlite3.Connection, root: Path, until: float) -> bool:
    """Find the target of each import anew: a file that came or went may change any of them.

    Return whether there was time for all.
    """
    files = read_files(db)

    def read(path: str) -> bytes | None:
        try:
            return read_plain(root / path, CONFIG_BYTES, root)
        except (OSError, ValueError):
            return None

    resolver = Resolver(list(files), read)
    edges: set[tuple[int, int]] = set()
    unresolved: set[tuple[int, str]] = set()
    is_whole = True
    for at, (file, path, language, one) in enumerate(read_imports(db)):
        if at % 256 == 0 and time.monotonic() > until:
            is_whole = False
            break
        targets = resolver.resolve(path, language, one)
        if not targets:
            unresolved.add((file, one.module[:MODULE_CHARS]))
        for target in targets[:TARGETS_MAX]:
            if target != path and target in files:
                edges.add((file, files[target].id))
    db.execute("DELETE FROM edge")
    db.executemany("INSERT INTO edge VALUES(?,?)", sorted(edges))
    db.execute("DELETE FROM unresolved")
    db.executemany("INSERT INTO unresolved VALUES(?,?)", sorted(unresolved))
    return is_whole
