"""What the project was when a view of it began."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ENTRIES_MAX = 2_000_000


class State(NamedTuple):
    """One entry as the kernel told of it; whatever is written to it changes one of these."""

    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Record:
    """A project at one moment.

    `states` and `hidden` are by relative path. The view does not show what is hidden, nor
    anything below it: secrets, denied paths, sockets, FIFOs, devices, other mounts.
    """

    project: Path
    states: Mapping[str, State]
    hidden: frozenset[str]


def take(project: Path, hidden: Iterable[str]) -> Record:
    """Record every entry of a project, following no link and entering no other mount.

    Raises:
        RequestError: the project has more than `ENTRIES_MAX` entries.
        OSError: the project can't be read.
    """
    raise NotImplementedError
