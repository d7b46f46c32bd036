"""Container engine of this machine: whether it answers, or why not, and its images.

Docker's SDK is loaded only if an engine may exist, so other verbs never pay for loading it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import trio

from base.wording import Remedy
from ctxmode.errors import ContextModeError

if TYPE_CHECKING:
    from executor.containers import DockerEngine, Endpoint
    from images.inventory import ImageState

DEFAULT_SOCKET: Final = "/var/run/docker.sock"

_INSTALL: Final = Remedy(
    "Install Docker Engine (Debian, Ubuntu: sudo apt-get install docker.io) and start it, or set "
    "DOCKER_HOST to the address of another engine.",
    "sudo apt-get install docker.io",
)
_START: Final = Remedy(
    "Start it: sudo systemctl start docker, or sudo service docker start.",
    "sudo systemctl start docker",
)
_JOIN: Final = Remedy(
    "Grant access: sudo usermod -aG docker $USER, then log in again (this access is equivalent to "
    "root). Or use a rootless engine.",
    "sudo usermod -aG docker $USER",
)


@dataclass(frozen=True, slots=True)
class EngineHealth:
    """Facts that an engine reports about itself, if it answers."""

    reachable: bool
    endpoint: str = ""
    version: str = ""
    rootless: bool = False
    runtimes: tuple[str, ...] = ()
    storage_driver: str = ""
    images: tuple[ImageState, ...] = ()
    reason: str = ""  # why it does not answer
    remedy: str = ""  # how to fix it

    @property
    def summary(self) -> str:
        """All facts in one line, or the reason why the engine does not answer."""
        if not self.reachable:
            return self.reason
        kind = "rootless" if self.rootless else "rootful"
        runtimes = f"runtimes {', '.join(self.runtimes)}"
        return f"{self.version}, {kind}, {self.storage_driver}, {runtimes}  {self.endpoint}"

    @property
    def remedies(self) -> tuple[str, ...]:
        """Fixes, one line each: of the engine, else of its images without duplicates."""
        if not self.reachable:
            return (self.remedy,) if self.remedy else ()
        return tuple(dict.fromkeys(image.remedy for image in self.images if image.remedy))

    def to_json(self) -> dict[str, Any]:
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        shown = [image.to_json() for image in self.images]
        return {**own, "runtimes": list(self.runtimes), "images": shown}


class EngineUnreachableError(ContextModeError):
    """No engine answers; the hint says how to fix it."""


async def connect(environ: Mapping[str, str] = os.environ) -> DockerEngine:
    """Connect to the engine that `docker` would use. Raise EngineUnreachableError if no engine
    answers."""
    return await _connect(_where(environ), environ)


def _where(environ: Mapping[str, str]) -> Endpoint:
    if not _may_be_there(environ):
        raise EngineUnreachableError(f"no container engine: no {DEFAULT_SOCKET}", _INSTALL)
    from executor.containers import engine  # noqa: PLC0415 - loads Docker's SDK

    try:
        return engine.find_endpoint(environ)
    except engine.EngineError as error:
        raise EngineUnreachableError(str(error), _elsewhere(environ)) from error


async def _connect(where: Endpoint, environ: Mapping[str, str]) -> DockerEngine:
    from executor.containers import engine  # noqa: PLC0415 - as above

    try:
        with trio.fail_after(where.patience_s):
            await _knock(where)
            return await engine.connect(where)
    except trio.TooSlowError as error:
        raise EngineUnreachableError(_late(where), _elsewhere(environ)) from error
    except engine.EngineError as error:
        raise EngineUnreachableError(str(error), _elsewhere(environ)) from error


async def examine(environ: Mapping[str, str] = os.environ) -> EngineHealth:
    """Query the engine, with a time limit."""
    try:
        where = _where(environ)
        with trio.move_on_after(where.patience_s):
            return await _examine(await _connect(where, environ))
    except ContextModeError as error:
        return EngineHealth(False, reason=error.message, remedy=error.hint)
    return EngineHealth(False, reason=_late(where), remedy=_elsewhere(environ))


def _late(where: Endpoint) -> str:
    return f"the container engine does not answer within {where.patience_s:g} s"


async def _examine(engine: DockerEngine) -> EngineHealth:
    from images import inventory  # noqa: PLC0415 - loads Docker's SDK
    from images.inventory import ImageError  # noqa: PLC0415

    try:
        states = await inventory.survey(engine.api)
    except ImageError as error:
        raise ContextModeError(error.message, error.hint) from error
    return EngineHealth(
        True,
        engine.endpoint.url,
        engine.facts.version,
        engine.facts.rootless,
        tuple(name for name in engine.facts.runtimes if not name.startswith("io.containerd.")),
        engine.facts.storage_driver,
        states,
    )


def _may_be_there(environ: Mapping[str, str]) -> bool:
    """Return whether a variable, a socket or the configuration of `docker` names an engine."""
    folder = environ.get("DOCKER_CONFIG") or Path(environ.get("HOME") or "/nonexistent", ".docker")
    rootless = Path(environ.get("XDG_RUNTIME_DIR") or "/nonexistent", "docker.sock")
    named = environ.get("DOCKER_HOST") or environ.get("DOCKER_CONTEXT")
    files = (Path(DEFAULT_SOCKET), rootless, Path(folder, "config.json"))
    return bool(named) or any(path.exists() for path in files)


async def _knock(where: Endpoint) -> None:
    """Find out why a socket of this machine cannot be used; the SDK's errors hide the reason. Raise
    EngineUnreachableError if no engine answers there."""
    if not where.is_local:
        return
    path = where.url.removeprefix("unix://")
    try:
        stream = await trio.open_unix_socket(path)
    except FileNotFoundError as error:
        raise EngineUnreachableError(f"no container engine: no {path}", _INSTALL) from error
    except PermissionError as error:
        raise EngineUnreachableError(f"no permission to use {path}", _JOIN) from error
    except OSError as error:
        message = f"the container engine at {path} is not running: {error.strerror or error}"
        raise EngineUnreachableError(message, _START) from error
    await stream.aclose()


def _elsewhere(environ: Mapping[str, str]) -> str:
    """Write what to check if a configured engine does not answer."""
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        if value := environ.get(name):
            return f"{name} is {value}: check it with docker info, or unset it."
    return "Check the engine with docker info; docker context ls lists the known engines."
