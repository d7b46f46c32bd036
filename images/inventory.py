"""Images that the engine has: current, outdated, missing; their removal, and what can go wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial
from typing import Any, Final, Self, TypeVar

import docker
import trio
from docker.errors import APIError, DockerException
from requests.exceptions import RequestException

from base.wording import type_command
from images.groups import (
    GROUPS,
    LABEL,
    STAGE_LABEL,
    Group,
    reference,
    repository,
    toolchains_reference,
)

T = TypeVar("T")
ANSWER_S_MAX: Final = 3.0
ALONE_S: Final = 1.0

_REMEDIES: Final = {
    "no space left on device": "Make room where the engine keeps its data; see docker system df",
    "apt-get: not found": "The base must be Debian-like, with apt and dpkg",
    "unable to locate package": "The base's package sources lack it: name another with --base",
    "temporary failure resolving": "The build's network does not reach the package servers: "
    "name another with --network, or set HTTP_PROXY and HTTPS_PROXY",
    "permission denied": "See whether this user may use the engine: context-mode doctor",
    "connection aborted": "The engine went away: see context-mode doctor",
    "connection refused": "The engine went away: see context-mode doctor",
}


class ImageError(Exception):
    """An image could not be made, checked or removed. `output` is what the failing step printed."""

    def __init__(self, message: str, hint: str = "", output: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.output = output

    @classmethod
    def of_engine(cls, error: Exception) -> Self:
        """What the engine, or the way to it, said."""
        said = str(getattr(error, "explanation", None) or error or type(error).__name__)
        return cls(f"the engine failed: {said}", remedy(said))


async def ask(question: Callable[[], T], patience_s: float = ANSWER_S_MAX) -> T:
    """Ask the engine, in a thread.

    Raises:
        ImageError: it does not say, or not in time.
    """
    try:
        with trio.fail_after(patience_s):
            return await trio.to_thread.run_sync(question, abandon_on_cancel=True)
    except trio.TooSlowError as error:
        hint = "See whether docker info works, and restart the engine if not"
        late = f"the container engine does not answer within {patience_s:g} s"
        raise ImageError(late, hint) from error
    except (DockerException, RequestException) as error:
        raise ImageError.of_engine(error) from error


async def wait_for_silence(api: docker.APIClient) -> ImageError:
    """Ping the engine until it no longer answers: no long call of an engine that hangs ends."""
    while True:
        await trio.sleep(ALONE_S)
        try:
            await ask(api.ping)
        except ImageError as error:
            return error


def remedy(text: str) -> str:
    """What helps against a failure that is known by its words."""
    lowered = text.lower()
    return next((hint for words, hint in _REMEDIES.items() if words in lowered), "")


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
    build = type_command(f"context-mode doctor images build {group.name}")
    if current in sizes:
        yield ImageState(group.name, State.CURRENT, current, sizes.pop(current))
        build = type_command("context-mode doctor images remove --outdated")
    elif not sizes:
        yield ImageState(group.name, State.MISSING, current, remedy=build)
    for name, size in sorted(sizes.items()):
        yield ImageState(group.name, State.OUTDATED, name, size, build)


def _names(image: dict[str, Any]) -> list[str]:
    return [name for name in image.get("RepoTags") or () if name != "<none>:<none>"]
