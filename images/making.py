"""From an order to images that are proven: finds a base, builds what is not current, checks it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Final

import docker
import trio
from docker.errors import DockerException
from requests.exceptions import RequestException

from images import base, building, settings
from images.building import Ground, Report
from images.checking import ToolchainCheck, check
from images.errors import ImageError, ask, wait_for_silence
from images.groups import GROUPS, Group
from images.naming import BASE_LABEL, reference, toolchains_reference

JOBS_MAX: Final = 2
"""Builds side by side: while one waits for packages to arrive another unpacks its own."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to make. Without a `base` one is found; `fresh` installs again what is there already."""

    groups: tuple[Group, ...] = GROUPS
    base: str | None = None
    network: str = "host"
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """One image, or why there is none: then `error` says so."""

    group: Group
    reference: str
    took_s: float = 0.0
    size_bytes: int = 0
    checks: tuple[ToolchainCheck, ...] = ()
    error: ImageError | None = None

    def to_json(self) -> dict[str, Any]:
        error = self.error
        return {
            "group": self.group.name,
            "reference": self.reference,
            "ok": error is None,
            "took_s": round(self.took_s, 1),
            "size_bytes": self.size_bytes,
            "checks": [asdict(check) for check in self.checks],
            "error": error.message if error else "",
            "hint": error.hint if error else "",
            "output": error.output if error else "",
        }


@dataclass(slots=True)
class _Work:
    """One order being carried out; the base is sought when the first image needs it."""

    api: docker.APIClient
    order: Order
    report: Report
    ground: Ground | None = None
    seeking: trio.Lock = field(default_factory=trio.Lock)


async def make(api: docker.APIClient, order: Order, report: Report) -> tuple[Made, ...]:
    """Make and prove every image of an order; one that fails keeps no other from being made."""
    work = _Work(api, order, report)
    made: dict[Group, Made] = {}
    limit = trio.CapacityLimiter(JOBS_MAX)

    async def one(group: Group) -> None:
        async with limit:
            made[group] = await _make(work, group)

    async def watch(builds: trio.CancelScope) -> None:
        hung = await wait_for_silence(api)
        report(hung.message)
        for group in order.groups:
            made.setdefault(group, Made(group, reference(group), error=hung))
        builds.cancel()

    async with trio.open_nursery() as watching:
        async with trio.open_nursery() as nursery:
            watching.start_soon(watch, nursery.cancel_scope)
            for group in order.groups:
                nursery.start_soon(one, group)
        watching.cancel_scope.cancel()
    return tuple(made[group] for group in order.groups)


async def _make(work: _Work, group: Group) -> Made:
    started_s = time.monotonic()

    def report(line: str) -> None:
        work.report(f"{group.name}: {line}")

    made = partial(Made, group, reference(group))
    try:
        built_on = await _toolchains_base(work, group)
        if built_on is None:
            ground = await _ground(work)
            await building.build_toolchains(work.api, group, ground, report)
            built_on = ground.base.id
        await building.build_image(work.api, group, built_on, report)
        report("running the hello programs")
        checks = await _checked(work.api, group)
        size = int((await _inspect(work.api, reference(group)))["Size"])
    except ImageError as error:
        report(f"failed: {error.message}")
        return made(time.monotonic() - started_s, error=error)
    return made(time.monotonic() - started_s, size, checks)


async def _checked(api: docker.APIClient, group: Group) -> tuple[ToolchainCheck, ...]:
    """Its checks; an image that does not pass loses its name, so that nothing runs in it."""
    try:
        return await check(api, group)
    except ImageError:
        with suppress(DockerException, RequestException):
            await trio.to_thread.run_sync(api.remove_image, reference(group))
        raise


async def _toolchains_base(work: _Work, group: Group) -> str | None:
    """What the group's present toolchains were built on; None if they have to be built."""
    if work.order.fresh:
        return None
    name = toolchains_reference(group)
    if await base.image_id(work.api, name) is None:
        return None
    built_on = (await _inspect(work.api, name))["Config"]["Labels"][BASE_LABEL]
    wanted = work.order.base
    same = wanted is None or await base.image_id(work.api, wanted) == built_on
    return str(built_on) if same else None


async def _ground(work: _Work) -> Ground:
    async with work.seeking:
        if work.ground is None:
            order = work.order
            own = await trio.to_thread.run_sync(settings.of_host)
            found = await base.find_or_make(
                work.api, order.base, own, work.report, fresh=order.fresh
            )
            if found.is_own:
                own = own.for_own_base()
            work.ground = Ground(found, own, order.network)
        return work.ground


async def _inspect(api: docker.APIClient, name: str) -> Mapping[str, Any]:
    return dict(await ask(partial(api.inspect_image, name)))
