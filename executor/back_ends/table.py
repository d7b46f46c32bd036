"""The back ends that make boxes for a server, as rows, and the choice among them by experiment."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from base.remedy import Remedy, command_of
from executor.back_ends.cells import open_cells
from executor.back_ends.ground import BackEnd, ServerGround
from executor.errors import SandboxUnavailableError
from executor.settings import Settings

Open = Callable[[Path, Path, Settings, ServerGround], AbstractAsyncContextManager[BackEnd]]


@dataclass(frozen=True, slots=True)
class BackEndRow:
    """A back end: `open` tries it out on this machine, and gives the strongest of its tiers.

    `isolation` is what the setting of this name asks for to have this back end and no other.
    """

    isolation: str
    open: Open


def _open_containers(
    project: Path, home: Path, settings: Settings, ground: ServerGround
) -> AbstractAsyncContextManager[BackEnd]:
    from executor.back_ends.containers import open_containers  # noqa: PLC0415 - docker's SDK

    return open_containers(project, home, settings, ground)


# The first that works is taken.
BACK_ENDS: Final = (BackEndRow("cell", open_cells), BackEndRow("container", _open_containers))


@contextlib.asynccontextmanager
async def open_back_end(
    project: Path, home: Path, settings: Settings, ground: ServerGround
) -> AsyncIterator[BackEnd]:
    """The back end that the settings ask for, else the first that works here.

    Raises:
        SandboxUnavailableError: none can be had; it says what would help.
    """
    asked = [row for row in BACK_ENDS if row.isolation == settings.isolation]
    lacking: list[SandboxUnavailableError] = []
    for row in asked or BACK_ENDS:
        async with contextlib.AsyncExitStack() as stack:
            try:
                made = await stack.enter_async_context(row.open(project, home, settings, ground))
            except SandboxUnavailableError as error:
                lacking.append(error)
                continue
            yield made
            return
    reasons = "; ".join(error.reason for error in lacking)
    remedies = [error.remedy for error in lacking]
    command = next(filter(None, map(command_of, remedies)), "")
    raise SandboxUnavailableError(reasons, Remedy(" Or: ".join(remedies), command))
