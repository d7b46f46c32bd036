"""From an order to images that are proven: finds a base, builds what is not current, checks it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import docker
import trio
from docker.errors import ImageNotFound

from images import base, building, settings
from images.building import Ground, Report
from images.checking import ToolchainCheck, check
from images.errors import ImageError
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
    took_s: float
    base: str = ""
    size_bytes: int = 0
    checks: tuple[ToolchainCheck, ...] = ()
    error: ImageError | None = None


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

    async with trio.open_nursery() as nursery:
        for group in order.groups:
            nursery.start_soon(one, group)
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
            built_on = ground.base
        await building.build_image(work.api, group, built_on, report)
        report("running the hello programs")
        checks = await check(work.api, group)
        size = await _size(work.api, reference(group))
    except ImageError as error:
        report(f"failed: {error.message}")
        return made(time.monotonic() - started_s, error=error)
    return made(time.monotonic() - started_s, built_on, size, checks)


async def _toolchains_base(work: _Work, group: Group) -> str | None:
    """What the group's present toolchains were built on; None if they have to be built."""
    if work.order.fresh:
        return None
    name = toolchains_reference(group)
    try:
        info = await trio.to_thread.run_sync(work.api.inspect_image, name, abandon_on_cancel=True)
    except ImageNotFound:
        return None
    built_on = str((info["Config"].get("Labels") or {}).get(BASE_LABEL, ""))
    return built_on if work.order.base in (None, built_on) else None


async def _ground(work: _Work) -> Ground:
    async with work.seeking:
        if work.ground is None:
            order = work.order
            own = await trio.to_thread.run_sync(settings.of_host)
            found = await base.find_or_make(
                work.api, order.base, own, work.report, fresh=order.fresh
            )
            if found == base.own_reference(own):
                own = own.for_own_base()
            work.ground = Ground(found, own, order.network)
        return work.ground


async def _size(api: docker.APIClient, name: str) -> int:
    info = await trio.to_thread.run_sync(api.inspect_image, name, abandon_on_cancel=True)
    return int(info.get("Size") or 0)
