"""Which files of a project a run may not see: found before it starts."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from executor.project.view.search import ProjectSearch


def identities(search: ProjectSearch) -> tuple[tuple[str, int, int], ...]:
    """Return what tells the guarded files from others that take their names."""
    known = []
    for name in search.find_guarded().paths:
        with contextlib.suppress(OSError):
            info = os.lstat(search.project / name)
            known.append((name, info.st_dev, info.st_ino))
    return tuple(known)


def _at_or_above(path: str) -> set[str]:
    return {path, *map(str, Path(path).parents)}


def readable(search: ProjectSearch, top: Path | None = None) -> tuple[tuple[str, str], ...]:
    """Landlock grants that cover the project but for its secrets (tier B can cover nothing).

    With `top`, a folder of it, they cover only that one. A folder without secrets anywhere below is
    granted whole ("r"); any other is only listed ("list") and its entries are granted one by one.
    """
    project, hidden = search.project, search.find_guarded(everywhere=True)
    secrets = {f"{project}/{path}" for path in hidden.paths}
    above = {str(parent) for path in secrets for parent in Path(path).parents}
    # A folder that is hidden as a whole is not listed, though there is a socket in it.
    tainted = {path for path in above if secrets.isdisjoint(_at_or_above(path))}
    top = top or project
    if not secrets.isdisjoint(_at_or_above(str(top))):
        return ()
    if str(top) not in tainted:
        return ((str(top), "r"),)
    grants: list[tuple[str, str]] = []
    for folder in sorted(path for path in tainted if Path(path).is_relative_to(top)):
        grants.append((folder, "list"))
        with os.scandir(folder) as entries:
            # Never a link: granting one would grant what it leads to.
            open_entries = (e for e in entries if not e.is_symlink())
            grants += [(e.path, "r") for e in open_entries if e.path not in secrets | tainted]
    return tuple(grants)
