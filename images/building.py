"""Makes one image: its toolchains first, then the image that adds this program's part to them."""

from __future__ import annotations

import io
import re
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import docker
import trio
from docker.errors import APIError, DockerException
from requests.exceptions import RequestException

from images import groups
from images.base import Base
from images.errors import ImageError, ask, remedy
from images.groups import BASE_LABEL, LABEL, STAGE_LABEL, Group, reference, toolchains_reference
from images.settings import Settings

BUILD_S_MAX: Final = 1800.0
SILENCE_S_MAX: Final = 600
OUTPUT_LINES: Final = 40
CLEANING_S_MAX: Final = 60.0
CLEANING_EVERY_S: Final = 0.5
REPORT_EVERY_S: Final = 15.0
Report = Callable[[str], None]

_STEP: Final = re.compile(r"Step (\d+/\d+) : (.+)")
_ESCAPE: Final = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Ground:
    """What images are built on and with."""

    base: Base
    settings: Settings
    network: str  # a mode of the engine's builds


async def build_toolchains(
    api: docker.APIClient, group: Group, ground: Ground, report: Report
) -> None:
    """Install the group's toolchains.

    Raises:
        ImageError: a step failed; its output is there.
    """
    settings, stage = ground.settings, uuid.uuid4().hex
    handed = {f"build/settings/{name}": content for name, content in settings.files.items()}
    entries = {**groups.for_toolchains(group), **handed}
    options = {
        "tag": toolchains_reference(group),
        "labels": {LABEL: group.name, BASE_LABEL: ground.base.id},
        "buildargs": {**settings.arguments, "BASE": ground.base.reference, "STAGE": stage},
        "network_mode": ground.network,
        "nocache": True,
    }
    try:
        await _run(api, entries, options, report)
    finally:
        # The settings of this host are in what the steps left: it goes, however they ended.
        with trio.move_on_after(CLEANING_S_MAX, shield=True), suppress(ImageError):
            remove = partial(_remove_stages, api, stage)
            while await ask(api.ping) and not await ask(remove, CLEANING_S_MAX):  # noqa: ASYNC110
                await trio.sleep(CLEANING_EVERY_S)  # nobody is told of a step's end


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
            # Of an engine that hangs no line comes at which it could look if it is cancelled.
            await trio.to_thread.run_sync(build, abandon_on_cancel=True)
    except trio.TooSlowError as error:
        hint = "See what the last step waits for; a slow network may need several tries"
        raise ImageError(f"it did not end in {BUILD_S_MAX:g} s", hint) from error
    except (DockerException, RequestException) as error:
        raise ImageError.of_engine(error) from error


def _build(
    api: docker.APIClient, archive: bytes, options: Mapping[str, Any], report: Report
) -> None:
    """In a thread. Given up between two lines of output; the engine then ends the step."""
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
    with closing(stream):  # and with it the connection: that is how the engine learns of it
        for line in _lines(stream):
            trio.from_thread.check_cancelled()
            step = _STEP.match(line)
            if step or time.monotonic() - told_s > REPORT_EVERY_S:
                report(f"step {step.group(1)}: {step.group(2)}" if step else f"… {line}")
                told_s = time.monotonic()


def _lines(stream: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    """What the steps print, line by line.

    Raises:
        ImageError: one failed.
    """
    seen: deque[str] = deque(maxlen=OUTPUT_LINES)
    failed = ""
    for message in stream:  # to its end, whatever it says: that gives the connection back
        failed = str(message.get("error", failed))
        for line in _ESCAPE.sub("", str(message.get("stream", ""))).splitlines():
            if line.strip():
                seen.append(line.rstrip())
                yield line.rstrip()
    if failed:
        output = "\n".join(seen)
        raise ImageError(failed, remedy(f"{failed}\n{output}"), output)


def _remove_stages(api: docker.APIClient, stage: str) -> bool:
    """Remove what the steps of a build left; False while one goes on that was given up."""
    label = {"label": f"{STAGE_LABEL}={stage}"}
    try:
        if api.containers(all=True, filters=label):
            return False
        for image in api.images(filters=label):
            api.remove_image(image["Id"])
    except APIError:
        return False  # a step has just begun
    except (DockerException, RequestException):
        return True  # the engine is gone: `remove` with all groups takes it away
    return True
