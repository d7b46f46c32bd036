"""The back ends as rows, what each stands on, and the choice among them by experiment."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import runtimes
from base.remedy import Remedy, command_of
from executor.cells import cgroup
from executor.engine.box import OpenBox, Place, Prewarming
from executor.errors import SandboxUnavailableError
from executor.instance import lock
from executor.instance import lock as instance
from executor.instance.lock import remove
from executor.settings import Settings


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


# Tries a back end out on this machine, and gives the strongest of its tiers.
Open = Callable[[Path, Path, Settings, ServerGround], AbstractAsyncContextManager[BackEnd]]


def _open_cells(
    project: Path, home: Path, settings: Settings, ground: ServerGround
) -> AbstractAsyncContextManager[BackEnd]:
    from executor.back_ends.cells import open_cells  # noqa: PLC0415 - it stands on this

    return open_cells(project, home, settings, ground)


def _open_containers(
    project: Path, home: Path, settings: Settings, ground: ServerGround
) -> AbstractAsyncContextManager[BackEnd]:
    from executor.back_ends.containers import open_containers  # noqa: PLC0415 - docker's SDK

    return open_containers(project, home, settings, ground)


# By the value of `isolation` that asks for this one and no other. The first that works is taken.
BACK_ENDS: Final[Mapping[str, Open]] = {"cell": _open_cells, "container": _open_containers}


@contextlib.asynccontextmanager
async def open_back_end(
    project: Path, home: Path, settings: Settings, ground: ServerGround
) -> AsyncIterator[BackEnd]:
    """The back end that the settings ask for, else the first that works here.

    Raises:
        SandboxUnavailableError: none can be had; it says what would help.
    """
    asked = BACK_ENDS.get(settings.isolation)
    lacking: list[SandboxUnavailableError] = []
    for open_one in [asked] if asked else BACK_ENDS.values():
        async with contextlib.AsyncExitStack() as stack:
            try:
                made = await stack.enter_async_context(open_one(project, home, settings, ground))
            except SandboxUnavailableError as error:
                lacking.append(error)
                continue
            yield made
            return
    reasons = "; ".join(error.reason for error in lacking)
    remedies = [error.remedy for error in lacking]
    command = next(filter(None, map(command_of, remedies)), "")
    raise SandboxUnavailableError(reasons, Remedy(" Or: ".join(remedies), command))
