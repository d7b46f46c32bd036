"""Which images the engine has: current, outdated, missing; and how ours are removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial
from typing import Any

import docker
import trio
from docker.errors import APIError
from requests.exceptions import RequestException

from base.remedy import type_command
from images.errors import ImageError, ask
from images.groups import (
    GROUPS,
    LABEL,
    STAGE_LABEL,
    Group,
    reference,
    repository,
    toolchains_reference,
)


class State(StrEnum):
    """Of one image, or of what stands in its place."""

    CURRENT = "current"
    OUTDATED = "outdated"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class ImageState:
    """A group's image."""

    group: str
    state: State
    reference: str  # what is there, or with `missing` what is to be made
    size_bytes: int = 0
    remedy: str = ""  # the command that mends it; empty where nothing is to be done

    def to_json(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


async def survey(api: docker.APIClient, groups: Iterable[Group] = GROUPS) -> tuple[ImageState, ...]:
    """Every image of the groups, and for each group without a current one what would help.

    Raises:
        ImageError: the engine does not say.
    """
    present = await ask(partial(api.images, filters={"label": LABEL}))
    return tuple(state for group in groups for state in _states(group, present))


async def remove(
    api: docker.APIClient, groups: Iterable[Group] = GROUPS, *, outdated_only: bool = False
) -> tuple[str, ...]:
    """Remove images of ours, known by their label; the names of those removed.

    With all groups, what they were built on and what broken builds left goes, too: a build that
    goes on at the same time fails.

    Raises:
        ImageError: one is in use, or the engine failed.
    """
    wanted = tuple(groups)
    everything = wanted == GROUPS and not outdated_only
    names = {group.name for group in wanted} | ({"base"} if everything else set())
    kept = set()
    if outdated_only:
        kept = {name(group) for group in wanted for name in (reference, toolchains_reference)}
    listed = [await ask(partial(api.images, filters={"label": x})) for x in (LABEL, STAGE_LABEL)]
    removed = []
    for image in {image["Id"]: image for images in listed for image in images}.values():
        # What a build works on bears the label of its base, too.
        is_stage = STAGE_LABEL in image["Labels"]
        if everything if is_stage else image["Labels"].get(LABEL) in names:
            for name in _names(image) or [image["Id"]]:
                if name not in kept:
                    await _remove(api, name)
                    removed.append(name)
    return tuple(removed)


async def _remove(api: docker.APIClient, name: str) -> None:
    try:
        await trio.to_thread.run_sync(api.remove_image, name)
    except APIError as error:
        if error.status_code == 404:
            return
        hint = "End what uses it, and try again" if error.status_code == 409 else ""
        raise ImageError(f"{name} can't be removed: {error.explanation}", hint) from error
    except RequestException as error:
        raise ImageError(f"{name} can't be removed: {error}") from error


def _states(group: Group, present: list[dict[str, Any]]) -> Iterator[ImageState]:
    current = reference(group)
    sizes = {
        name: int(image.get("Size") or 0)
        for image in present
        for name in _names(image)
        if name.rpartition(":")[0] == repository(group)
    }
    build = type_command(f"context-mode images build {group.name}")
    if current in sizes:
        yield ImageState(group.name, State.CURRENT, current, sizes.pop(current))
        build = type_command("context-mode images remove --outdated")
    elif not sizes:
        yield ImageState(group.name, State.MISSING, current, remedy=build)
    for name, size in sorted(sizes.items()):
        yield ImageState(group.name, State.OUTDATED, name, size, build)


def _names(image: dict[str, Any]) -> list[str]:
    return [name for name in image.get("RepoTags") or () if name != "<none>:<none>"]
