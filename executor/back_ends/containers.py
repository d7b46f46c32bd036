"""Tier C, opened for a project: engine, images, cleanup after dead servers, pool."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import trio

import images
import runtimes
from base.wording import Remedy, list_choices
from executor.containers import host as hosts
from executor.containers.agent.messages import Hello
from executor.containers.create import ContainerSpec, has_own_kernel
from executor.containers.engine import DockerEngine, EngineError, connect, find_endpoint
from executor.containers.place import ContainerPlace
from executor.containers.toolchains import discover, image_id
from executor.engine import seccomp
from executor.engine.box import UNPRIVILEGED_ID, Order, existing
from executor.engine.layers import REMEDIES
from executor.engine.tiers import TIERS_OF
from executor.instance.lock import Instance
from executor.model import (
    Isolation,
    Layer,
    Limits,
    SandboxError,
    SandboxUnavailableError,
    UnknownRuntimeError,
)
from executor.pool.containers import NONE_PREWARMED, PREWARMED, ContainerPool
from executor.pool.pool import PoolLimits
from executor.project.git.host import find_linked
from executor.project.view.search import ProjectSearch
from executor.request import ANALYZE
from executor.settings import BackEnd, ServerGround, Settings

(TIER,) = TIERS_OF["container"]
START_ENGINE = Remedy(
    "start the engine (`systemctl start docker`, or as root `dockerd`), or set DOCKER_HOST; "
    "`docker info` shows whether it answers",
    "sudo systemctl start docker",
)
BUILD_IMAGES = Remedy("run `context-mode doctor images build`", "context-mode doctor images build")
CGROUPS = "a rootless engine needs control groups of version 2, with systemd and Delegate=yes"
RUNTIME = "To add a runtime, register it in the engine's daemon.json."


@dataclass(frozen=True, slots=True)
class _Shown:
    """The project's additions to a container."""

    instance: Instance
    project: Path
    repository: tuple[str, ...]
    paths: tuple[str, ...]  # further paths that profiles show
    layers: str  # the folder of layers of packages
    folder: Path  # for stored facts about images


def reference_of(language: str) -> str:
    """Return the image of a language, by its reference."""
    return images.reference(images.group_for(language))


@contextlib.asynccontextmanager
async def open_containers(
    project: Path, home: Path, settings: Settings, ground: ServerGround
) -> AsyncIterator[BackEnd]:
    """Open containers for a project, and remove all of them when the block ends.

    Raises:
        SandboxUnavailableError: no engine answers, or it can't run containers; it names the fix.
    """
    del home  # containers see nothing of it
    listed = {path for profile in settings.profiles.values() for path in profile.read}
    repository = await trio.to_thread.run_sync(find_linked, project)
    folder = ground.state_dir / "containers"
    paths, layers = tuple(existing(sorted(listed))), str(ground.state_dir / "packages")
    shown = _Shown(ground.instance, project, repository, paths, layers, folder)
    limits = PREWARMED if settings.prewarm else NONE_PREWARMED
    try:
        engine = await connect(find_endpoint())
    except EngineError as error:
        raise SandboxUnavailableError(f"tier {TIER}: {error}", START_ENGINE) from error
    runtime = settings.runtime
    if has_own_kernel(engine.facts.default_runtime):
        runtime = runtime or engine.facts.default_runtime  # by its name, which decides some things
    with contextlib.closing(engine):
        labels = hosts.list_labels(shown.instance.id, shown.instance.folder, project)
        toolchains, trial, key = await _find(engine, shown, runtime, labels)
        async with _try_out(engine, shown, runtime, labels, limits, trial) as place:
            probes = folder / f"probes-{key}.json"
            yield BackEnd(place, place.open_box, toolchains, probes, place.pool)


async def _find(
    engine: DockerEngine, shown: _Shown, runtime: str, labels: Mapping[str, str]
) -> tuple[Mapping[str, runtimes.Discovery], str, str]:
    """Find what can be run on this engine, once it is rid of what dead servers left.

    Return what the images have, a language whose image is there, and a name for all images.

    Raises:
        SandboxUnavailableError: nothing.
    """
    if runtime and runtime not in engine.facts.runtimes:
        remedy = f"{list_choices(runtime, engine.facts.runtimes)} {RUNTIME}"
        raise UnknownRuntimeError(f"the container engine has no runtime {runtime!r}", remedy)
    references = {row.name: reference_of(row.name) for row in runtimes.LANGUAGES}
    try:
        await hosts.sweep(engine, shown.instance.folder)
        present = {name: await image_id(engine, name) for name in set(references.values())}
        if not any(present.values()):
            raise SandboxUnavailableError(f"tier {TIER}: none of the images is there", BUILD_IMAGES)
        await trio.to_thread.run_sync(hosts.sweep_mounts, shown.instance.folder)
        toolchains = await discover(engine, runtime, references, shown.folder, labels)
    except EngineError as error:
        raise SandboxUnavailableError(f"tier {TIER}: {error}", START_ENGINE) from error
    trial = next(name for name, reference in references.items() if present[reference])
    key = hashlib.sha256(f"{sorted(present.values())}{runtime}".encode()).hexdigest()[:16]
    return toolchains, trial, key


@contextlib.asynccontextmanager
async def _try_out(  # noqa: PLR0913, PLR0917 - each is another thing
    engine: DockerEngine,
    shown: _Shown,
    runtime: str,
    labels: Mapping[str, str],
    limits: PoolLimits,
    trial: str,
) -> AsyncIterator[ContainerPlace]:
    """Find the place where a container really starts, with the project mounted if that works."""
    reasons: list[str] = []
    for mounted in (True, False):
        async with contextlib.AsyncExitStack() as stack:
            try:
                host = None
                if mounted:
                    if reason := _why_not_mounted(engine, shown.project):
                        reasons.append(reason)
                        continue
                    host = await stack.enter_async_context(_host(shown))
                pool = await stack.enter_async_context(_pool(engine, host, labels, limits))
                user = host.user if host else (UNPRIVILEGED_ID, UNPRIVILEGED_ID)
                place = ContainerPlace(
                    Isolation(TIER),
                    ProjectSearch(shown.project),
                    shown.instance.temporary,
                    shown.repository,
                    reference_of,
                    runtime,
                    user,
                    host,
                    pool,
                )
                job = Order((), "/", {}, Limits(), profile=ANALYZE, language=trial)
                spec = await trio.to_thread.run_sync(place.spec, job)
                hello = await pool.try_out(spec)
            except SandboxError as error:
                reasons.append(str(error))
                continue
            named = layers(engine, spec, host, hello, reasons)
            yield replace(place, isolation=Isolation(TIER, named))
            return
    raise SandboxUnavailableError(f"tier {TIER}: {'; '.join(reasons)}", BUILD_IMAGES)


def _why_not_mounted(engine: DockerEngine, project: Path) -> str:
    """Return why this engine cannot mount the project; "" if a trial will show it."""
    if not engine.endpoint.is_local:
        return "the engine is on another machine"
    if engine.facts.rootless:
        return "a rootless engine can't mount an overlay for the project's owner"
    if not hosts.can_overlay(project):
        return "the project's path holds a comma, a colon or a backslash"
    return ""


@contextlib.asynccontextmanager
async def _host(project: _Shown) -> AsyncIterator[hosts.EngineHost]:
    shown: Sequence[str] = (*project.repository, *project.paths)
    manager = hosts.open_host(project.instance, project.project, shown, project.layers)
    host = await trio.to_thread.run_sync(manager.__enter__)
    try:
        yield host
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(manager.__exit__, None, None, None)


@contextlib.asynccontextmanager
async def _pool(
    engine: DockerEngine,
    host: hosts.EngineHost | None,
    labels: Mapping[str, str],
    limits: PoolLimits,
) -> AsyncIterator[ContainerPool]:
    pool = ContainerPool(engine, host, labels, limits)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        try:
            yield pool
        finally:
            with trio.CancelScope(shield=True):
                await pool.close()
            nursery.cancel_scope.cancel()


def layers(
    engine: DockerEngine,
    spec: ContainerSpec,
    host: hosts.EngineHost | None,
    hello: Hello | None,
    reasons: Sequence[str],
) -> dict[str, Layer]:
    """Return every layer of tier C, by name."""
    facts = engine.facts
    runtime = spec.runtime or facts.default_runtime
    instructions = len(seccomp.program(namespaces=True)) // 8
    abi = hello["landlock"] if hello else 0
    no_landlock = Layer(False, "", "the container's kernel has no Landlock", REMEDIES["landlock"])
    daemon = f"Docker {facts.version}{', rootless' * facts.rootless}"
    own_kernel = has_own_kernel(runtime)
    if own_kernel:  # by name: what that kernel's tmpfs does not do can't be seen from outside
        daemon = f"{daemon}; a kernel of its own: scratch is sized, files are not counted"
    return {
        "runtime": Layer(True, f"{runtime}, by {daemon}"),
        "namespaces": Layer(True, "pid, mount, net, ipc, uts; a read-only image as root"),
        "seccomp": Layer(
            True, f"by Docker and by us: calls by a table, {instructions} instructions"
        ),
        "capabilities": Layer(True, "none; no-new-privileges"),
        "landlock": Layer(True, f"ABI {abi}") if abi > 0 else no_landlock,
        "cgroup": _limits(engine, own_kernel),
        "network": Layer(True, "none: an empty network namespace"),
        "copy_on_write": _copy_on_write(host, reasons),
        "id_mapping": _identity(spec, host),
    }


def _limits(engine: DockerEngine, own_kernel: bool) -> Layer:
    facts = engine.facts
    if not facts.limits:
        instead = "memory and processes by rlimits and sampling of the whole tree"
        return Layer(False, instead, "the engine can't limit memory and processes", CGROUPS)
    limits = f"Docker, version {facts.cgroup_version}: memory, processes, CPU"
    if own_kernel:
        limits = f"{limits}; a run's by the container's kernel: rlimits, and memory by sampling"
    return Layer(True, limits)


def _copy_on_write(host: hosts.EngineHost | None, reasons: Sequence[str]) -> Layer:
    if host is None:
        why = "; ".join(reasons)
        return Layer(True, f"a copy of the project travels into the container: {why}")
    if host.as_root:
        return Layer(True, "an overlay volume on a sized tmpfs")
    return Layer(True, "an overlay volume; its size is not enforced, each file's is")


def _identity(spec: ContainerSpec, host: hosts.EngineHost | None) -> Layer:
    uid = spec.user[0]
    if host is None:
        return Layer(True, f"programs run as {uid}, which owns the copy of the project")
    if host.as_root:
        return Layer(True, f"the project's owner appears as {uid}")
    return Layer(True, f"programs run as this server's user, {uid}")
