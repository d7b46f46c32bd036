"""Reading the changes from an overlay's upper folder."""

from __future__ import annotations

import os
import stat
from contextlib import closing

from executor.project.store.manifest import ChangeSet, LeftOut
from executor.project.view.attributes import is_opaque
from executor.project.view.comparison import Comparison
from executor.project.view.record import Record
from executor.project.view.walking import FOLDER_FLAGS, OpenFolder, walk

FIRST = "0/upper"  # in a room, of a view that was never renewed


def of_upper(upper: int, record: Record) -> ChangeSet:
    """Read the changes from an overlay's upper folder, an open descriptor.

    Raises:
        CommitError: there are more than can be applied.
        OSError: it can't be read.
    """
    with closing(Comparison(record, upper, record.states)) as comparison:
        gone, opaque = [], []

        def refuse(path: str) -> None:
            comparison.refused.append(LeftOut(path, "it lies too deep to be read", "refused"))

        for folder in walk(upper, lambda _: True, refuse):
            if folder.prefix and is_opaque(folder.descriptor):
                opaque.append(folder.prefix[:-1])
            gone += _read(folder, comparison)
        for path in gone:
            comparison.delete(path)
        for path in opaque:
            comparison.delete_below(path)
        return comparison.result(os.dup(upper))


def _read(folder: OpenFolder, comparison: Comparison) -> list[str]:
    """Compare what is in one folder; the paths that it says are no longer there."""
    gone = []
    for entry in folder.entries:
        info = entry.stat(follow_symlinks=False)
        path = folder.prefix + entry.name
        if stat.S_ISCHR(info.st_mode) and info.st_rdev == 0:
            gone.append(path)
        else:
            comparison.look(path, info, f"/proc/self/fd/{folder.descriptor}/{entry.name}")
    return gone


def as_the_host_has_it(upper: int, room: str) -> int | None:
    """The same folder opened below `room`, the host's, out of which a file can be renamed.

    What a sandbox hands over is reached through a mount of its own, which no rename crosses.
    """
    try:
        opened = os.open(f"{room}/{FIRST}", FOLDER_FLAGS)
    except OSError:
        return None
    if os.path.samestat(os.fstat(opened), os.fstat(upper)):
        return opened
    os.close(opened)
    return None
