"""The back ends as rows, and the choice among them by experiment."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

from base.remedy import Remedy, command_of
from executor.back_ends.ground import BackEnd, ServerGround
from executor.errors import SandboxUnavailableError
from executor.settings import Settings

# Tries a back end out on this machine, and gives the strongest of its tiers.
Open = Callable[[Path, Path, Settings, ServerGround], AbstractAsyncContextManager[BackEnd]]


def _open_cells(
    project: Path, home: Path, settings: Settings, ground: ServerGround
) -> AbstractAsyncContextManager[BackEnd]:
    from executor.back_ends.cells import open_cells  # noqa: PLC0415 - only where it is tried

    return open_cells(project, home, settings, ground)


def _open_containers(
    project: Path, home: Path, settings: Settings, ground: ServerGround
) -> AbstractAsyncContextManager[BackEnd]:
    from executor.back_ends.containers import open_containers  # noqa: PLC0415 - docker's SDK

    return open_containers(project, home, settings, ground)


# By the value of `isolation` that asks for this one and no other. The first that works is taken.
BACK_ENDS: Final[Mapping[str, Open]] = {"cell": _open_cells, "container": _open_containers}


@contextlib.asynccontextmanager
async def open_back_end(
    project: Path, home: Path, settings: Settings, ground: ServerGround
) -> AsyncIterator[BackEnd]:
    """The back end that the settings ask for, else the first that works here.

    Raises:
        SandboxUnavailableError: none can be had; it says what would help.
    """
    asked = BACK_ENDS.get(settings.isolation)
    lacking: list[SandboxUnavailableError] = []
    for open_one in [asked] if asked else BACK_ENDS.values():
        async with contextlib.AsyncExitStack() as stack:
            try:
                made = await stack.enter_async_context(open_one(project, home, settings, ground))
            except SandboxUnavailableError as error:
                lacking.append(error)
                continue
            yield made
            return
    reasons = "; ".join(error.reason for error in lacking)
    remedies = [error.remedy for error in lacking]
    command = next(filter(None, map(command_of, remedies)), "")
    raise SandboxUnavailableError(reasons, Remedy(" Or: ".join(remedies), command))
