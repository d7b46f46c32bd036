"""Tiers A and B, opened for a project: the strongest one in which a program really ran."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import trio

import runtimes
from base import process
from base.wording import Remedy, command_of
from executor.cells.cell import open_spawner
from executor.cells.description import pack_cell
from executor.cells.placement import Placement, not_of_the_system
from executor.engine import seccomp
from executor.engine.box import Order, existing
from executor.engine.layers import (
    REMEDIES,
    SHOWS_NOTHING,
    STAYS_ROOT,
    layers,
    namespaces_remedy,
)
from executor.engine.orders import pack_run
from executor.engine.tiers import TIERS, TIERS_OF
from executor.model import Isolation, Limits, Request, SandboxError, SandboxUnavailableError
from executor.pool.cells import CellPool, SharedBudget, open_cell_pool
from executor.project.git.host import find_linked
from executor.project.view.search import ProjectSearch
from executor.request import ANALYZE
from executor.settings import BackEnd, ServerGround, Settings
from executor.spawner.messages import Layers
from runtimes import Step
from runtimes.packages import find_tools

LET_IN = (
    "as root put the project where others may read it (not below /root), or start as its owner: "
    "programs run as another user, who may not enter it"
)
# What root takes to run programs as another user, and to show that one the project.
LEAVING = (
    *(process.CHOWN, process.DAC_OVERRIDE, process.FOWNER),
    *(process.KILL, process.SETGID, process.SETUID),
)
TRIAL_S_MAX = 10.0
CELLS = TIERS_OF["cell"]


@contextlib.asynccontextmanager
async def open_cells(
    project: Path, home: Path, settings: Settings, ground: ServerGround
) -> AsyncIterator[BackEnd]:
    """Open cells of the spawner, with the toolchains installed on this machine.

    Raises:
        SandboxUnavailableError: none works here.
    """
    here = ground.instance
    search_path = os.environ.get("PATH", os.defpath).split(":")
    sole = settings.sole
    found = await trio.to_thread.run_sync(_discover, sole, search_path, project, home)
    binds = {bind for candidates, _ in found.values() for c in candidates for bind in c.binds}
    shown = {path for profile in settings.profiles.values() for path in profile.read}
    repository = await trio.to_thread.run_sync(find_linked, project)
    shown.update(repository)
    # A candidate's paths are mounted under the names that it gives, which may be links.
    stage = dict.fromkeys([str(project), *filter(os.path.exists, binds), *existing(sorted(shown))])
    # Staged as a whole: cells are shown what is put there later.
    stage |= dict.fromkeys(
        (
            *(str(here.temporary), str(ground.rooms)),
            *(str(ground.state_dir / name) for name in ("caches", "packages")),
            *(not_of_the_system(find_tools()) if sole is None or sole.packages else ()),
        )
    )
    budget = None
    if settings.prewarm and sole is None:
        budget = SharedBudget(here.folder, here.id, settings.prewarm_bytes)
    once = sole is not None
    place = partial(
        Placement,
        search=ProjectSearch(project),
        temporary=here.temporary,
        repository=repository,
        rooms=ground.rooms,
    )
    open_pool = partial(open_cell_pool, hierarchy=ground.hierarchy, budget=budget, once=once)
    async with _open_strongest(ground, place, list(stage), open_pool) as (placement, pool):
        yield BackEnd(
            placement,
            pool.lease,
            found,
            ground.state_dir / "probes.json",
            pool,
            tuple(sorted(binds)),
        )


@contextlib.asynccontextmanager
async def _open_strongest(
    ground: ServerGround,
    place: Callable[..., Placement],
    stage: Sequence[str],
    open_pool: Callable[[Placement], contextlib.AbstractAsyncContextManager[CellPool]],
) -> AsyncIterator[tuple[Placement, CellPool]]:
    """Open the strongest tier in which a program really ran, with its spawner and cell pool.

    `place` places the project's cells. `stage` are the paths besides the system's that cells may be
    given. The pool is opened before the trial, so that cells start at the same time; it is closed
    if the tier does not work. Programs in namespaces never are the host's root, because root may
    write the kernel's settings.

    Raises:
        SandboxUnavailableError: no tier works; its remedy has the fix.
    """
    try:
        instructions = len(seccomp.program(namespaces=True)) // 8
    except OSError as error:
        raise SandboxUnavailableError(f"seccomp: {error}", REMEDIES["seccomp"]) from error
    reasons: dict[str, str] = {}
    is_root, lacks = is_real_root(), ""
    if is_root and not process.holds(*LEAVING):
        lacks = STAYS_ROOT
    elif is_root and not process.holds(process.SYS_ADMIN):
        lacks = SHOWS_NOTHING
    leaves = is_root and lacks != STAYS_ROOT
    for tier in CELLS:
        # Nor could it be root there: since Linux 5.12 root's uid is mapped by CAP_SETFCAP alone.
        if TIERS[tier].namespaces and lacks:
            reasons[tier] = lacks
            continue
        async with contextlib.AsyncExitStack() as stack:
            try:
                # Staged paths hang in a mount namespace that only tier A's cells can make use of.
                spawner = await stack.enter_async_context(
                    open_spawner(stage if TIERS[tier].namespaces else (), as_root=leaves)
                )
                placement = place(tier, Isolation(tier), spawner=spawner)
                pool = await stack.enter_async_context(open_pool(placement))
                supervisor = await _try(placement)
            except SandboxError as error:
                reasons[tier] = str(error)
                continue
            named = layers(
                can=TIERS[tier],
                supervisor=supervisor,
                filter_instructions=instructions,
                cgroup_version=ground.hierarchy.version if ground.hierarchy else None,
                why_no_cgroup=ground.why_no_cgroup,
                why_no_namespaces=reasons.get(CELLS[0], ""),
                mapped_uid=spawner.uid if spawner.staged else None,
                why_not_mapped=spawner.refused.get(str(placement.project), ""),
            )
            yield replace(placement, isolation=Isolation(tier, named)), pool
            return
    text = "; ".join(f"tier {tier}: {reason}" for tier, reason in reasons.items())
    barred = leaves and os.strerror(errno.EACCES) in reasons.get(CELLS[-1], "")
    other = LET_IN if barred else REMEDIES["landlock"]
    first = namespaces_remedy(reasons.get(CELLS[0], ""))
    raise SandboxUnavailableError(text, Remedy(f"{first}. Or: {other}.", command_of(first)))


async def _try(placement: Placement) -> Layers:
    """Run a shell that does nothing in a cell; what its supervisor said of the layers.

    Raises:
        SandboxError: the cell could not be made, or the program did not run in it.
    """
    shell = Step(("/bin/sh", "-c", ":"), "run")
    trial = Order((shell,), str(placement.project), {}, Limits())
    layout = placement.layout(ANALYZE)
    spec = await trio.to_thread.run_sync(placement.cell, trial, layout)
    try:
        with trio.move_on_after(TRIAL_S_MAX):
            cell = await placement.spawner.start_cell(placement.can.namespaces)
            try:
                await cell.order(b"make", pack_cell(spec))
                await cell.ready()
                if not placement.can.namespaces and not cell.layers.get("landlock"):
                    raise SandboxError("this kernel has no Landlock")
                null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
                try:
                    await cell.order(b"run", pack_run(trial), (null, null, null))
                finally:
                    os.close(null)
                end = await cell.exit()
                if end.exit_code != 0:
                    raise SandboxError(f"a trial program ended with {end.exit_code or end.signal}")
                return cell.layers
            finally:
                cell.end()
                await cell.wait_ended()
    finally:
        layout.remove()
    raise SandboxError(f"no answer within {TRIAL_S_MAX:g} s")


def _discover(
    sole: Request | None, search_path: list[str], project: Path, home: Path
) -> dict[str, runtimes.Discovery]:
    """Find the toolchains of all languages, or of the sole request's; none if that is unknown,
    which the request's check reports."""
    try:
        rows = [runtimes.language(sole.language)] if sole else runtimes.LANGUAGES
    except runtimes.UnknownLanguage:
        return {}
    return {
        row.name: runtimes.discover(row, search_path, project, home, os.environ) for row in rows
    }


def is_real_root() -> bool:
    """Return whether this process is the host's root, and not only root in a user namespace."""
    if os.geteuid() != 0:
        return False
    first = Path("/proc/self/uid_map").read_text().split()
    return first[:2] == ["0", "0"]
