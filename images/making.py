"""From an order to images that are proven: finds a base, builds what is not current, checks it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Final

import docker
import trio
from docker.errors import APIError, DockerException
from requests.exceptions import RequestException

from images import base, building, settings
from images.building import Ground, Report
from images.errors import ImageError, ask, wait_for_silence
from images.groups import BASE_LABEL, GROUPS, LABEL, Group, reference, toolchains_reference

JOBS_MAX: Final = 2
"""Builds side by side: while one waits for packages to arrive another unpacks its own."""
CHECK_S_MAX: Final = 300
HELLO: Final = ("python3", "-I", "-S", "-B", "/opt/ctxmode/agent/hello.py")
USER: Final = "65432:65432"

_HOST: Final[dict[str, Any]] = {
    "cap_drop": ["ALL"],
    "init": True,
    "mem_limit": "2g",
    "memswap_limit": "2g",
    "network_mode": "none",
    "pids_limit": 512,
    "read_only": True,
    "security_opt": ["no-new-privileges:true"],
    "tmpfs": {"/tmp": "rw,exec,nosuid,nodev,size=1g,mode=1777"},
}


@dataclass(frozen=True, slots=True)
class ToolchainCheck:
    """Outcome of one toolchain."""

    language: str
    toolchain: str
    start_ms: float | None  # None: it did not run
    output: str = ""  # why it did not run


async def check(api: docker.APIClient, group: Group) -> tuple[ToolchainCheck, ...]:
    """Run every hello program of the group in its current image.

    Raises:
        ImageError: a language does not run, or the image does not start.
    """
    checks = tuple(_read(await ask(partial(_run, api, group), CHECK_S_MAX + 60)))
    for language in group.languages:
        tried = [check for check in checks if check.language == language]
        if not any(check.start_ms is not None for check in tried):
            said = "\n".join(f"{check.toolchain}: {check.output}" for check in tried)
            raise ImageError(f"{language} does not run in {reference(group)}", output=said)
    return checks


def _read(output: str) -> list[ToolchainCheck]:
    try:
        told = json.loads(output)
    except ValueError as error:
        raise ImageError("the image's part of this program failed", output=output) from error
    return [
        ToolchainCheck(language, each["toolchain"], each["start_ms"], each["output"])
        for language, attempts in told.items()
        for each in attempts
    ]


def _run(api: docker.APIClient, group: Group) -> str:
    container = api.create_container(
        reference(group),
        entrypoint=[*HELLO, *group.languages],
        user=USER,
        labels={LABEL: group.name},
        host_config=api.create_host_config(**_HOST),
    )["Id"]
    try:
        api.start(container)
        api.wait(container, timeout=CHECK_S_MAX)
        return bytes(api.logs(container)).decode(errors="replace")
    finally:
        with suppress(APIError, RequestException):
            api.remove_container(container, force=True, v=True)


@dataclass(frozen=True, slots=True)
class Order:
    """What to make."""

    groups: tuple[Group, ...] = GROUPS
    base: str | None = None  # None: one is found
    network: str = "host"
    fresh: bool = False  # install again what is there already


@dataclass(frozen=True, slots=True)
class Made:
    """One image, or why there is none."""

    group: Group
    reference: str
    took_s: float = 0.0
    size_bytes: int = 0
    checks: tuple[ToolchainCheck, ...] = ()
    error: ImageError | None = None  # why there is none

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
