"""Finds the project folder by what lies in it. Hooks load this, so nothing else is here."""

from __future__ import annotations

import os

PROJECT_MARKS = (".git", ".ctxmode")  # as in `policy.load`, which not every command loads


def find_project(here: str, home: str) -> str:
    """Find the project that `here` lies in, both real paths. A marked home folder is not one, nor
    is any above it: it holds the secrets."""
    folder = here
    while folder != home and not home.startswith(f"{folder.rstrip('/')}/"):
        if any(os.path.exists(os.path.join(folder, mark)) for mark in PROJECT_MARKS):
            return folder
        folder = os.path.dirname(folder)
    return here
