"""What makes the boxes of a server: cells where they work, containers where they are asked for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import trio

import runtimes
from executor.cells import cgroup
from executor.cells.placement import Machine, placed
from executor.engine.box import OpenBox, Place
from executor.errors import SandboxUnavailableError
from executor.instance import lock as instance
from executor.instance import temporary
from executor.instance.removal import remove
from executor.pool.cells import open_cell_pool
from executor.project import repositories
from executor.project.search import ProjectSearch
from executor.settings import Settings

if TYPE_CHECKING:
    from executor.pool.budget import Budget
    from executor.pool.pool import PoolState


@dataclass(frozen=True, slots=True)
class Ground:
    """What an instance has on the host: its folders, and control groups or why not."""

    instance: instance.Instance
    state_dir: Path
    spools: Path
    rooms: Path  # where what runs change lies until it is committed
    hierarchy: cgroup.Hierarchy | None
    why_no_cgroup: str


class Prewarming(Protocol):
    """The pool of a back end."""

    @property
    def state(self) -> tuple[PoolState, ...]:
        """What is prewarmed, the purpose used last first."""


@dataclass(frozen=True, slots=True)
class BackEnd:
    """What makes the boxes, and the toolchains that are in them."""

    place: Place
    open_box: OpenBox
    found: Mapping[str, runtimes.Discovery]
    probes: Path
    pool: Prewarming
    binds: tuple[str, ...] = ()  # what a session's box is shown of toolchains


@contextlib.asynccontextmanager
async def open_back_end(
    project: Path, home: Path, settings: Settings, ground: Ground
) -> AsyncIterator[BackEnd]:
    """Cells, or containers: where they are asked for, or where no cell works.

    Raises:
        SandboxUnavailableError: neither can be had; it says what would help.
    """
    async with contextlib.AsyncExitStack() as stack:
        if settings.isolation == "container":
            made = await stack.enter_async_context(_containers(project, settings, ground))
        else:
            try:
                cells = _cells(project, home, settings, ground)
                made = await stack.enter_async_context(cells)
            except SandboxUnavailableError as lacking:
                containers = _containers(project, settings, ground)
                try:
                    made = await stack.enter_async_context(containers)
                except SandboxUnavailableError as error:
                    raise SandboxUnavailableError(
                        f"{lacking.reason}; {error.reason}", f"{lacking.remedy} Or: {error.remedy}."
                    ) from error
        yield made


@contextlib.asynccontextmanager
async def _cells(
    project: Path, home: Path, settings: Settings, ground: Ground
) -> AsyncIterator[BackEnd]:
    """Cells of the spawner, and what is installed on this machine.

    Raises:
        SandboxUnavailableError: none works here.
    """
    here = ground.instance
    search_path = os.environ.get("PATH", os.defpath).split(":")
    rows = _languages(settings.sole_language)
    found = await trio.to_thread.run_sync(_discover, rows, search_path, project, home)
    binds = {bind for d in found.values() for c in d.candidates for bind in c.binds}
    shown = {path for profile in settings.profiles.values() for path in profile.read}
    repository = await trio.to_thread.run_sync(repositories.linked, project)
    shown.update(repository)
    # A candidate's paths are mounted under the names that it gives, which may be links.
    stage = dict.fromkeys([str(project), *filter(os.path.exists, binds), *existing(sorted(shown))])
    # Staged as a whole: cells are shown what is put there later.
    stage |= dict.fromkeys(
        (str(here.temporary), str(ground.state_dir / "caches"), str(ground.rooms))
    )
    warm = settings.warm and not settings.sole_language
    budget = _budget(here, settings.warm_bytes) if warm else None
    once = bool(settings.sole_language)
    machine = Machine(
        ProjectSearch(project),
        ground.hierarchy,
        ground.why_no_cgroup,
        here.temporary,
        ground.rooms,
        repository,
    )
    open_pool = partial(open_cell_pool, hierarchy=ground.hierarchy, budget=budget, once=once)
    as_root = is_real_root()
    async with placed(machine, list(stage), open_pool, as_root=as_root) as (placement, pool):
        yield BackEnd(
            placement,
            pool.lease,
            found,
            ground.state_dir / "probes.json",
            pool,
            tuple(sorted(binds)),
        )


@contextlib.asynccontextmanager
async def _containers(project: Path, settings: Settings, ground: Ground) -> AsyncIterator[BackEnd]:
    """Containers, and what is installed in their images.

    Raises:
        SandboxUnavailableError: no engine runs them here.
    """
    from executor import containers  # noqa: PLC0415 - the SDK is loaded by who needs it

    shown = {path for profile in settings.profiles.values() for path in profile.read}
    repository = await trio.to_thread.run_sync(repositories.linked, project)
    floor = containers.Ground(
        ground.instance,
        project,
        repository,
        tuple(existing(sorted(shown))),
        ground.state_dir / "containers",
    )
    limits = containers.PREWARMED if settings.warm else containers.NONE_PREWARMED
    async with containers.opened(floor, settings.runtime, limits) as made:
        yield BackEnd(
            made.place, made.place.open_box, made.toolchains, made.probes, made.place.pool
        )


@contextlib.contextmanager
def open_ground(here: instance.Instance, state_dir: Path) -> Iterator[Ground]:
    spools = state_dir / "spool" / here.id
    rooms = state_dir / "rooms" / here.id
    for folder in (spools, rooms):
        folder.mkdir(parents=True, mode=0o700)
    hierarchy, why_not = cgroup.find(here.id)
    groups = set(hierarchy.folders.values()) if hierarchy else set()
    here.remember([spools, rooms, here.temporary, *groups])
    try:
        yield Ground(here, state_dir, spools, rooms, hierarchy, why_not)
    finally:
        if hierarchy:
            cgroup.remove_hierarchy(hierarchy)
        for folder in filter(temporary.is_own, (spools, rooms, here.temporary)):
            remove(folder)


def _budget(here: instance.Instance, limit_bytes: int) -> Budget:
    from executor.pool.budget import Budget  # noqa: PLC0415 - where something waits for runs

    return Budget(here.folder, here.id, limit_bytes)


def _languages(sole: str) -> Sequence[runtimes.Language]:
    """Those whose programs may be run; none where the only one is unknown, which its request's
    check says."""
    try:
        return [runtimes.language(sole)] if sole else runtimes.LANGUAGES
    except runtimes.UnknownLanguage:
        return ()


def _discover(
    rows: Iterable[runtimes.Language], search_path: list[str], project: Path, home: Path
) -> dict[str, runtimes.Discovery]:
    return {
        row.name: runtimes.discover(row, search_path, project, home, os.environ) for row in rows
    }


def existing(paths: Iterable[str]) -> list[str]:
    """Those that exist, as they are called and as they really are: cells ask for either."""
    called = [os.path.expanduser(path) for path in paths]
    both = dict.fromkeys((*called, *map(os.path.realpath, called)))
    return [path for path in both if os.path.exists(path)]


def is_real_root() -> bool:
    """Whether this process is the host's root, and not merely called so in a user namespace."""
    if os.geteuid() != 0:
        return False
    first = Path("/proc/self/uid_map").read_text().split()
    return first[:2] == ["0", "0"]
