"""The engine of this machine, opened: its back end, and all that runs go through."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

from base.wording import Remedy, command_of
from executor.cells import cgroup
from executor.engine.engine import LoadRules, Terms
from executor.instance import control, lock
from executor.instance import lock as instance
from executor.model import SandboxUnavailableError
from executor.project.commit_service import CommitService, recover_commits
from executor.run.judging import open_judges
from executor.run.runner import Runner
from executor.service import LocalEngine
from executor.sessions.registry import open_sessions
from executor.settings import BackEnd, ServerGround, Settings
from executor.toolchains.catalog import ToolchainCaches, Toolchains

if TYPE_CHECKING:
    from executor.compile.compiler import Compiler
    from executor.packages.layers import Packages


# Tries a back end out on this machine, and gives the strongest of its tiers.
Open = Callable[[Path, Path, Settings, ServerGround], AbstractAsyncContextManager[BackEnd]]


def _open_cells(
    project: Path, home: Path, settings: Settings, ground: ServerGround
) -> AbstractAsyncContextManager[BackEnd]:
    from executor.back_ends.cells import open_cells  # noqa: PLC0415 - only where it is tried

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
    """Open the back end that the settings name, or the first that works here.

    Raises:
        SandboxUnavailableError: none works; it names the fix.
    """
    asked = BACK_ENDS.get(settings.isolation)
    lacking: list[SandboxUnavailableError] = []
    for open_one in [asked] if asked else BACK_ENDS.values():
        async with contextlib.AsyncExitStack() as stack:
            try:
                made = await stack.enter_async_context(open_one(project, home, settings, ground))
            except SandboxUnavailableError as error:
                if asked:
                    raise
                lacking.append(error)
                continue
            yield made
            return
    reasons = "; ".join(error.reason for error in lacking)
    remedies = [error.remedy for error in lacking]
    command = next(filter(None, map(command_of, remedies)), "")
    raise SandboxUnavailableError(reasons, Remedy(" Or: ".join(remedies), command))


@contextlib.contextmanager
def open_ground(here: instance.Instance, state_dir: Path) -> Iterator[ServerGround]:
    """Make an instance's folders and control groups; remove them when the block ends."""
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
            lock.remove(folder)


@contextlib.asynccontextmanager
async def open_engine(
    *,
    project: Path,
    state_dir: Path,
    rules: LoadRules | None,
    home: Path,
    settings: Settings | None = None,
) -> AsyncIterator[LocalEngine]:
    """Open this machine's engine for a project, and end all that it started when the block ends.

    Raises:
        SandboxUnavailableError: nothing here isolates programs; it names the fix.
        OSError: `state_dir` can't be written.
    """
    settings = settings or Settings()
    # To send descriptors while programs have many in flight: `executor.spawner.confine`.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 1 << 16 if hard == resource.RLIM_INFINITY else min(hard, 1 << 16)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    project = await trio.to_thread.run_sync(Path.resolve, project)
    # Boxes show files stored there only if no link is on the path.
    state_dir = await trio.to_thread.run_sync(Path.resolve, state_dir)
    with instance.join(state_dir / "instances") as here, open_ground(here, state_dir) as ground:
        lock.own_folder(here.temporary)
        filled = state_dir / "caches"
        for folder in (filled, state_dir / "packages"):
            folder.mkdir(mode=0o700, exist_ok=True)
        concurrency = settings.concurrency or 2 * (os.cpu_count() or 1)
        async with open_back_end(project, home, settings, ground) as made:
            made.place.search.hide([state_dir, settings.storage or state_dir])
            await trio.to_thread.run_sync(recover_commits, state_dir / "changes", project)
            door = CommitService(
                made.place.search,
                lambda: settings.names,
                state_dir / "changes",
                made.binds,
                identity=os.stat(project),
            )
            runner = Runner(
                made.place, made.open_box, ground.spools, settings.inline_bytes, concurrency, door
            )
            async with (
                open_judges(settings.report, prewarm=rules is not None) as judges,
                open_sessions(runner, made.binds, settings.sessions) as sessions,
                trio.open_nursery() as nursery,
            ):
                caches = ToolchainCaches(runner, filled, str(project))
                toolchains = Toolchains(runner, made.found, made.probes, str(project), caches)
                terms = Terms(project, home, rules, settings.profiles, settings.limits)
                compiler = cache(partial(_open_compiler, runner, state_dir, project))
                packages = partial(_open_packages, runner, state_dir, project, settings)
                engine = LocalEngine(
                    terms,
                    runner=runner,
                    pool=made.pool,
                    toolchains=toolchains,
                    sessions=sessions,
                    caches=caches,
                    compiler=compiler,
                    judges=judges,
                    packages=packages,
                    instance=here,
                )
                desk = (runner, lambda: engine.pools)
                await nursery.start(control.serve, here.socket, desk)
                yield engine
                nursery.cancel_scope.cancel()


def _open_compiler(runner: Runner, state_dir: Path, project: Path) -> Compiler:
    """Open the stored products; loaded when a language is first compiled separately."""
    from executor.compile.compiler import CompiledStore, Compiler  # noqa: PLC0415

    return Compiler(runner, CompiledStore(state_dir / "compiled"), project)


def _open_packages(runner: Runner, state_dir: Path, project: Path, settings: Settings) -> Packages:
    """Open the store of packages; its modules are loaded when a run first needs packages."""
    from executor.packages.layers import Packages  # noqa: PLC0415
    from executor.packages.store import LayerStore  # noqa: PLC0415

    store = LayerStore(state_dir / "packages", settings.packages.bytes_max)
    return Packages(runner, str(project), store, settings.packages)
