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
    "no space left on device": "Free space where the engine stores its data: docker system df",
    "apt-get: not found": "Choose a base with apt and dpkg, such as Debian.",
    "unable to locate package": "The base's package sources lack it. Name another with --base.",
    "temporary failure resolving": "The build's network does not reach the package servers. "
    "Name another with --network, or set HTTP_PROXY and HTTPS_PROXY.",
    "permission denied": "Check that this user may use the engine: context-mode doctor",
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
        """Build the error from an error of the engine or of the connection to it."""
        said = str(getattr(error, "explanation", None) or error or type(error).__name__)
        return cls(f"the engine failed: {said}", remedy(said))


async def ask(question: Callable[[], T], patience_s: float = ANSWER_S_MAX) -> T:
    """Ask the engine, in a thread.

    Raises:
        ImageError: it failed, or did not answer in time.
    """
    try:
        with trio.fail_after(patience_s):
            return await trio.to_thread.run_sync(question, abandon_on_cancel=True)
    except trio.TooSlowError as error:
        hint = "Check that docker info works; restart the engine if not."
        late = f"the container engine does not answer within {patience_s:g} s"
        raise ImageError(late, hint) from error
    except (DockerException, RequestException) as error:
        raise ImageError.of_engine(error) from error


async def wait_for_silence(api: docker.APIClient) -> ImageError:
    """Ping the engine until it no longer answers, as calls to an engine that hangs never end."""
    while True:
        await trio.sleep(ALONE_S)
        try:
            await ask(api.ping)
        except ImageError as error:
            return error


def remedy(text: str) -> str:
    """Return the fix for a known failure, or ""."""
    lowered = text.lower()
    return next((hint for words, hint in _REMEDIES.items() if words in lowered), "")


class State(StrEnum):
    """The state of a group's image."""

    CURRENT = "current"
    OUTDATED = "outdated"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class ImageState:
    """A group's image."""

    group: str
    state: State
    reference: str  # the image; if `missing`, the one to make
    size_bytes: int = 0
    remedy: str = ""  # the command that fixes it; empty if current

    def to_json(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


async def survey(api: docker.APIClient, groups: Iterable[Group] = GROUPS) -> tuple[ImageState, ...]:
    """List the images of the groups, and for each group without a current one the fix.

    Raises:
        ImageError: the engine does not answer.
    """
    present = await ask(partial(api.images, filters={"label": LABEL}))
    return tuple(state for group in groups for state in _states(group, present))


async def remove(
    api: docker.APIClient, groups: Iterable[Group] = GROUPS, *, outdated_only: bool = False
) -> tuple[str, ...]:
    """Remove images made here, recognised by their label; return their names.

    With all groups, their bases and the stages of broken builds are removed too: a build that is
    active at the same time fails.

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
        # A stage of a build also has the label of its base.
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
        hint = "Stop what uses it, and try again." if error.status_code == 409 else ""
        raise ImageError(f"cannot remove {name}: {error.explanation}", hint) from error
    except RequestException as error:
        raise ImageError(f"cannot remove {name}: {error}") from error


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
