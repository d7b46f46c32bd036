"""The Landlock grants of a project: tier B can cover nothing, so that secrets are left out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from executor.project.view.search import ProjectSearch


def _at_or_above(path: str) -> set[str]:
    return {path, *map(str, Path(path).parents)}


def list_readable(
    search: ProjectSearch, tops: Iterable[Path] | None = None
) -> tuple[tuple[str, str], ...]:
    """List Landlock grants that cover the project but for its secrets (tier B can cover nothing).

    With `tops`, folders of it, they cover only those. A folder without secrets anywhere below is
    granted whole ("r"); any other is only listed ("list") and its entries are granted one by one.
    """
    project, hidden = search.project, search.find_guarded(everywhere=True)
    secrets = {f"{project}/{path}" for path in hidden.paths}
    above = {str(parent) for path in secrets for parent in Path(path).parents}
    # A folder that is hidden as a whole is not listed, though there is a socket in it.
    tainted = {path for path in above if secrets.isdisjoint(_at_or_above(path))}
    grants: list[tuple[str, str]] = []
    for top in (project,) if tops is None else tops:
        if not secrets.isdisjoint(_at_or_above(str(top))):
            continue
        if str(top) not in tainted:
            grants.append((str(top), "r"))
        for folder in sorted(path for path in tainted if Path(path).is_relative_to(top)):
            grants.append((folder, "list"))
            with os.scandir(folder) as entries:
                # Never a link: granting one would grant what it leads to.
                open_entries = (e for e in entries if not e.is_symlink())
                grants += [(e.path, "r") for e in open_entries if e.path not in secrets | tainted]
    return tuple(dict.fromkeys(grants))
