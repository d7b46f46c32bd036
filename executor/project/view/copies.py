"""Reading the changes from a work copy of the project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from executor.project.store.manifest import ChangeSet, LeftOut
from executor.project.view.comparison import Comparison
from executor.project.view.record import EntryState, Record, state_of
from executor.project.view.walking import FOLDER_FLAGS, walk


def of_copy(folder: Path, at_start: Mapping[str, EntryState], record: Record) -> ChangeSet:
    """Read the changes from a work copy; `at_start` says what it was: `take(folder, ()).states`.

    Raises:
        CommitError: there are more than can be applied.
        OSError: it can't be read.
    """
    top = os.open(folder, FOLDER_FLAGS)
    try:
        with closing(Comparison(record, top, at_start)) as comparison:
            seen = _compare(top, at_start, comparison)
            for path in at_start.keys() - seen:
                comparison.delete(path)
            return comparison.result(top)
    except BaseException:
        os.close(top)
        raise


def _compare(top: int, at_start: Mapping[str, EntryState], comparison: Comparison) -> set[str]:
    """Compare every entry; the paths that there still are."""
    seen: set[str] = set()

    def refuse(path: str) -> None:
        comparison.refused.append(LeftOut(path, "it lies too deep to be read", "refused"))
        seen.update(each for each in at_start if each.startswith(f"{path}/"))

    for each in walk(top, lambda _: True, refuse):
        for entry in each.entries:
            info = entry.stat(follow_symlinks=False)
            path = each.prefix + entry.name
            seen.add(path)
            if at_start.get(path) != state_of(info):
                comparison.look(path, info, f"/proc/self/fd/{each.descriptor}/{entry.name}")
    return seen
