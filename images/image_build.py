"""Builds of images: find a base, build outdated or missing images, check them."""

from __future__ import annotations

import io
import json
import re
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final

import docker
import trio
from docker.errors import APIError, DockerException
from requests.exceptions import RequestException

from images import base, groups
from images.base import Base
from images.groups import (
    BASE_LABEL,
    GROUPS,
    LABEL,
    STAGE_LABEL,
    Group,
    reference,
    toolchains_reference,
)
from images.inventory import ImageError, ask, remedy, wait_for_silence

BUILD_S_MAX: Final = 1800.0
SILENCE_S_MAX: Final = 600
OUTPUT_LINES: Final = 40
CLEANING_S_MAX: Final = 60.0
CLEANING_EVERY_S: Final = 0.5
REPORT_EVERY_S: Final = 15.0
Report = Callable[[str], None]

_STEP: Final = re.compile(r"Step (\d+/\d+) : (.+)")
_ESCAPE: Final = re.compile(r"\x1b\[[0-9;]*m")


async def build_toolchains(
    api: docker.APIClient, group: Group, built_on: Base, network: str, report: Report
) -> None:
    """Install the group's toolchains. `network` is a mode of the engine's builds.

    Raises:
        ImageError: a step failed; its output is there.
    """
    settings, stage = built_on.settings, uuid.uuid4().hex
    handed = {f"build/settings/{name}": content for name, content in settings.files.items()}
    entries = {**groups.for_toolchains(group), **handed}
    options = {
        "tag": toolchains_reference(group),
        "labels": {LABEL: group.name, BASE_LABEL: built_on.id},
        "buildargs": {**settings.arguments, "BASE": built_on.reference, "STAGE": stage},
        "network_mode": network,
        "nocache": True,
    }
    try:
        await _run(api, entries, options, report)
    finally:
        # The stages hold the settings of this host: remove them, however the steps ended.
        with trio.move_on_after(CLEANING_S_MAX, shield=True), suppress(ImageError):
            remove = partial(_remove_stages, api, stage)
            while await ask(api.ping) and not await ask(remove, CLEANING_S_MAX):  # noqa: ASYNC110
                await trio.sleep(CLEANING_EVERY_S)  # the end of a step is not reported


async def build_image(api: docker.APIClient, group: Group, base: str, report: Report) -> str:
    """Add this program's part to the group's toolchains; the image's reference.

    Raises:
        ImageError: a step failed; its output is there.
    """
    options = {
        "tag": reference(group),
        "labels": {LABEL: group.name, BASE_LABEL: base},
        "buildargs": {"TOOLCHAINS": toolchains_reference(group)},
        "network_mode": "none",
    }
    await _run(api, groups.for_image(), options, report)
    return reference(group)


async def _run(
    api: docker.APIClient,
    entries: Mapping[str, bytes],
    options: Mapping[str, Any],
    report: Report,
) -> None:
    build = partial(_build, api, groups.archive(entries), options, report)
    try:
        with trio.fail_after(BUILD_S_MAX):
            # If the engine hangs, no line comes after which the thread could see the cancellation.
            await trio.to_thread.run_sync(build, abandon_on_cancel=True)
    except trio.TooSlowError as error:
        hint = "Check what the last step waits for; a slow network may need several tries."
        raise ImageError(f"the build did not end in {BUILD_S_MAX:g} s", hint) from error
    except (DockerException, RequestException) as error:
        raise ImageError.of_engine(error) from error


def _build(
    api: docker.APIClient, archive: bytes, options: Mapping[str, Any], report: Report
) -> None:
    """Build in a thread. Cancelled between two lines of output; the engine then ends the step."""
    stream = api.build(
        fileobj=io.BytesIO(archive),
        custom_context=True,
        decode=True,
        rm=True,
        forcerm=True,
        timeout=SILENCE_S_MAX,
        **options,
    )
    told_s = time.monotonic()
    with closing(stream):  # and the connection, so that the engine notices
        for line in _lines(stream):
            trio.from_thread.check_cancelled()
            step = _STEP.match(line)
            if step or time.monotonic() - told_s > REPORT_EVERY_S:
                report(f"step {step.group(1)}: {step.group(2)}" if step else f"… {line}")
                told_s = time.monotonic()


def _lines(stream: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the output of the steps, line by line.

    Raises:
        ImageError: a step failed.
    """
    seen: deque[str] = deque(maxlen=OUTPUT_LINES)
    failed = ""
    for message in stream:  # read to its end, to free the connection
        failed = str(message.get("error", failed))
        for line in _ESCAPE.sub("", str(message.get("stream", ""))).splitlines():
            if line.strip():
                seen.append(line.rstrip())
                yield line.rstrip()
    if failed:
        output = "\n".join(seen)
        raise ImageError(failed, remedy(f"{failed}\n{output}"), output)


def _remove_stages(api: docker.APIClient, stage: str) -> bool:
    """Remove the stages of a build; return False while a cancelled step is still active."""
    label = {"label": f"{STAGE_LABEL}={stage}"}
    try:
        if api.containers(all=True, filters=label):
            return False
        for image in api.images(filters=label):
            api.remove_image(image["Id"])
    except APIError:
        return False  # a step has just started
    except (DockerException, RequestException):
        return True  # the engine is gone: `remove` of all groups removes them
    return True


JOBS_MAX: Final = 2
"""Builds at the same time: one unpacks its packages while another waits for its own."""
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
    """The check of one toolchain."""

    language: str
    toolchain: str
    start_ms: float | None  # None: it did not run
    output: str = ""  # why it did not run


async def check(api: docker.APIClient, group: Group) -> tuple[ToolchainCheck, ...]:
    """Run every hello program of the group in its current image.

    Raises:
        ImageError: a language does not run, or the image does not start.
    """
    checks = tuple(_read(await ask(partial(_print_checks, api, group), CHECK_S_MAX + 60)))
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


def _print_checks(api: docker.APIClient, group: Group) -> str:
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
class Made:
    """An image that was made, or the error."""

    group: Group
    reference: str
    took_s: float = 0.0
    size_bytes: int = 0
    checks: tuple[ToolchainCheck, ...] = ()
    error: ImageError | None = None  # why it was not made

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


class Builder:
    """Builds of images on one base.

    Attributes:
        base: the image to build on; None: one is found.
        network: a mode of the engine's builds.
        fresh: install again even if present.
    """

    def __init__(
        self,
        report: Report,
        *,
        base: str | None = None,
        network: str = "host",
        fresh: bool = False,
    ) -> None:
        """Build nothing yet."""
        self._report = report
        self.base = base
        self.network = network
        self.fresh = fresh
        self._found: Base | None = None
        self._seeking = trio.Lock()

    async def make(
        self, api: docker.APIClient, groups: Sequence[Group] = GROUPS
    ) -> tuple[Made, ...]:
        """Make and prove the image of every group; a failure does not stop the others."""
        made: dict[Group, Made] = {}
        limit = trio.CapacityLimiter(JOBS_MAX)

        async def one(group: Group) -> None:
            async with limit:
                made[group] = await self._make(api, group)

        async def watch(builds: trio.CancelScope) -> None:
            hung = await wait_for_silence(api)
            self._report(hung.message)
            for group in groups:
                made.setdefault(group, Made(group, reference(group), error=hung))
            builds.cancel()

        async with trio.open_nursery() as watching:
            async with trio.open_nursery() as nursery:
                watching.start_soon(watch, nursery.cancel_scope)
                for group in groups:
                    nursery.start_soon(one, group)
            watching.cancel_scope.cancel()
        return tuple(made[group] for group in groups)

    async def _make(self, api: docker.APIClient, group: Group) -> Made:
        started_s = time.monotonic()

        def report(line: str) -> None:
            self._report(f"{group.name}: {line}")

        made = partial(Made, group, reference(group))
        try:
            built_on = await self._toolchains_base(api, group)
            if built_on is None:
                found = await self._find_base(api)
                await build_toolchains(api, group, found, self.network, report)
                built_on = found.id
            await build_image(api, group, built_on, report)
            report("running the hello programs")
            checks = await _checked(api, group)
            size = int((await _inspect(api, reference(group)))["Size"])
        except ImageError as error:
            report(f"failed: {error.message}")
            return made(time.monotonic() - started_s, error=error)
        return made(time.monotonic() - started_s, size, checks)

    async def _toolchains_base(self, api: docker.APIClient, group: Group) -> str | None:
        """Return the ID of the base of the group's toolchains; None if they must be built."""
        if self.fresh:
            return None
        name = toolchains_reference(group)
        if await base.image_id(api, name) is None:
            return None
        built_on = (await _inspect(api, name))["Config"]["Labels"][BASE_LABEL]
        same = self.base is None or await base.image_id(api, self.base) == built_on
        return str(built_on) if same else None

    async def _find_base(self, api: docker.APIClient) -> Base:
        """Find the base and its settings once, when the first image needs them."""
        async with self._seeking:
            if self._found is None:
                own = await trio.to_thread.run_sync(base.of_host)
                self._found = await base.find_or_make(
                    api, self.base, own, self._report, fresh=self.fresh
                )
            return self._found


async def _checked(api: docker.APIClient, group: Group) -> tuple[ToolchainCheck, ...]:
    """Check an image. If it fails, remove its name, so that nothing runs in it."""
    try:
        return await check(api, group)
    except ImageError:
        with suppress(DockerException, RequestException):
            await trio.to_thread.run_sync(api.remove_image, reference(group))
        raise


async def _inspect(api: docker.APIClient, name: str) -> Mapping[str, Any]:
    return dict(await ask(partial(api.inspect_image, name)))
