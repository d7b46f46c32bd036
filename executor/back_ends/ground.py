"""The ground of a server on the host, and what a back end gives to it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import runtimes
from executor.cells import cgroup
from executor.engine.box import OpenBox, Place, Prewarming
from executor.instance import lock
from executor.instance import lock as instance
from executor.instance.lock import remove


@dataclass(frozen=True, slots=True)
class ServerGround:
    """What an instance has on the host: its folders, and control groups or why not."""

    instance: instance.Instance
    state_dir: Path
    spools: Path
    rooms: Path  # where what runs change lies until it is committed
    hierarchy: cgroup.Hierarchy | None
    why_no_cgroup: str


@dataclass(frozen=True, slots=True)
class BackEnd:
    """What makes the boxes, and the toolchains that are in them."""

    place: Place
    open_box: OpenBox
    found: Mapping[str, runtimes.Discovery]
    probes: Path
    pool: Prewarming
    binds: tuple[str, ...] = ()  # what a session's box is shown of toolchains


@contextlib.contextmanager
def open_ground(here: instance.Instance, state_dir: Path) -> Iterator[ServerGround]:
    spools = state_dir / "spool" / here.id
    rooms = state_dir / "rooms" / here.id
    for folder in (spools, rooms):
        folder.mkdir(parents=True, mode=0o700)
    hierarchy, why_not = cgroup.find(here.id)
    groups = set(hierarchy.folders.values()) if hierarchy else set()
    here.remember([spools, rooms, here.temporary, *groups])
    try:
        yield ServerGround(here, state_dir, spools, rooms, hierarchy, why_not)
    finally:
        if hierarchy:
            cgroup.remove_hierarchy(hierarchy)
        for folder in filter(lock.is_own_folder, (spools, rooms, here.temporary)):
            remove(folder)


def existing(paths: Iterable[str]) -> list[str]:
    """Those that exist, as they are called and as they really are: cells ask for either."""
    called = [os.path.expanduser(path) for path in paths]
    both = dict.fromkeys((*called, *map(os.path.realpath, called)))
    return [path for path in both if os.path.exists(path)]
