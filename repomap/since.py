"""What changed since a revision, and what depends on it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from repomap.history import list_changed
from repomap.store import read_files

DEPENDS = 0.5
"""What a file that imports a changed one has of that one's evidence."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Evidence by path: 1 for what changed, less for what depends on it. `gone` are paths that
    changed and are not in the map: removed, or left out of it."""

    evidence: dict[str, float]
    gone: tuple[str, ...]


def find_changed(db: sqlite3.Connection, root: Path, revision: str) -> Changed:
    """Find what differs between a revision and the working tree, and the files that import it.

    Raises:
        MapInputError: there is no such revision.
        MapError: git cannot tell.
    """
    files = read_files(db)
    changed = list_changed(root, revision)
    evidence = dict.fromkeys((path for path in changed if path in files), 1.0)
    for path in tuple(evidence):
        rows = db.execute(
            "SELECT file.path FROM edge JOIN file ON file.id = edge.file WHERE target = ?",
            (files[path].id,),
        )
        for (dependent,) in rows:
            evidence.setdefault(dependent, DEPENDS)
    return Changed(evidence, tuple(path for path in changed if path not in files))
