"""What the server asks of a sandbox: the face that cells and containers share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from executor.engine.engine import PoolState
    from executor.engine.exit import Consumption, Exit
    from executor.engine.job import Job
    from executor.engine.layout import Layout
    from executor.engine.tiers import Capabilities
    from executor.model import Isolation
    from executor.profile import Profile
    from executor.project.view.record import Record
    from executor.project.view.search import ProjectSearch
    from executor.spawner.messages import ArtifactsHandedOver, FromSupervisor, Layers


class Box(Protocol):
    """One sandbox, from its making until all in it is gone. See `executor.cells.cell.Cell`."""

    handed_over: ArtifactsHandedOver | None
    layers: Layers

    @property
    def owner(self) -> tuple[int, int]:
        """Uid and gid on this host of whoever is to own the ends of pipes."""

    async def start(self, packed: bytes, stdin: bytes | None) -> dict[str, int]:
        """Start the run; the reading ends of its output pipes by name.

        Raises:
            SandboxError: the box is gone.
        """

    async def order(self, name: bytes, packed: bytes, fds: Sequence[int] = ()) -> None: ...

    async def stop(self) -> None: ...

    async def exit(self) -> Exit: ...

    async def message(self) -> FromSupervisor:
        """What the supervisor says next; nothing if it is gone."""

    def take_fds(self) -> list[int]: ...

    def take_upper(self) -> int | None:
        """A view's upper layer, once what is in it is to be committed; the caller closes it."""

    def end(self) -> None: ...

    async def wait_ended(self) -> None: ...


class Meter(Protocol):
    """What counts a box's consumption."""

    @property
    def enforces(self) -> bool:
        """Whether memory and processes are refused at their limits, not merely counted."""

    def consumption(self) -> Consumption: ...


class Place(Protocol):
    """Where runs are placed: the tier in use, and the folders of a box in it."""

    @property
    def can(self) -> Capabilities:
        """What the boxes of the tier can do."""

    @property
    def isolation(self) -> Isolation: ...

    @property
    def project(self) -> Path: ...

    @property
    def search(self) -> ProjectSearch:
        """What of the project boxes are not shown, or may not change."""

    @property
    def temporary(self) -> Path:
        """A folder of the host for what has to lie there while a run lasts."""

    def shortfall(self) -> str:
        """Why no stronger tier is in use, and what would help: the end of a sentence."""

    @property
    def travels(self) -> bool:
        """Whether boxes get a copy of the project, because it can't be mounted."""

    def layout(
        self, profile: Profile, record: Record | None = None, *, session: bool = False
    ) -> Layout:
        """The folders of a box, or of a session's.

        `record` is of the project that is to be committed to.
        """

    def image(self, language: str) -> str:
        """The image that a box of this language has; empty where it shows this machine's system."""

    def share(self, language: str, other: str) -> bool:
        """Whether one box can serve programs of both languages."""


class OpenBox(Protocol):
    """Makes the box of a job, and what counts its consumption."""

    def __call__(
        self, job: Job, layout: Layout, *, session: bool = False
    ) -> AbstractAsyncContextManager[tuple[Box, Meter | None]]: ...


class Prewarming(Protocol):
    """The pool of a back end."""

    @property
    def state(self) -> tuple[PoolState, ...]:
        """What is prewarmed, the purpose used last first."""
