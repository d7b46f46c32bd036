"""Which folder is the project, told by what lies in it. Loaded by hooks: nothing else is here."""

from __future__ import annotations

from pathlib import Path

PROJECT_MARKS = (".git", ".ctxmode")


def find_project(here: Path, home: Path) -> Path:
    """The project that `here` lies in. A marked home folder is not one: it holds the secrets."""
    for folder in (here, *here.parents):
        if folder in (home, *home.parents):
            break
        if any((folder / mark).exists() for mark in PROJECT_MARKS):
            return folder
    return here
