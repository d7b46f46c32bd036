"""Settings of the executor, and the resources of a server on the host for its back ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import runtimes
from executor.cells import cgroup
from executor.engine.box import BoxPlace, OpenBox, Prewarming
from executor.instance import lock as instance
from executor.model import MIB, Limits, Request
from executor.packages.model import PackageSettings
from executor.request import PROFILES, Profile
from executor.sessions.registry import SessionLimits

if TYPE_CHECKING:
    from executor.project.rules.names import ObeyedNames


@dataclass(frozen=True, slots=True)
class ServerGround:
    """An instance's resources on the host: its folders, and control groups or why not."""

    instance: instance.Instance
    state_dir: Path
    spools: Path
    rooms: Path  # for changes of runs until they are committed
    hierarchy: cgroup.Hierarchy | None
    why_no_cgroup: str


@dataclass(frozen=True, slots=True)
class BackEnd:
    """The maker of boxes, with the toolchains in them."""

    place: BoxPlace
    open_box: OpenBox
    found: Mapping[str, runtimes.Discovery]
    probes: Path
    pool: Prewarming
    binds: tuple[str, ...] = ()  # paths of toolchains that a session's box shows


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of an executor. Users cannot set `sole` and `report`."""

    inline_bytes: int = 4096  # how much of each stream a result holds
    concurrency: int | None = None  # how many programs run at once; None: twice the processors
    # All that requests may name.
    profiles: Mapping[str, Profile] = field(default_factory=lambda: PROFILES)
    # Limits of what stays between calls.
    sessions: SessionLimits = field(default_factory=SessionLimits)
    prewarm: bool = True  # whether programs are started before their runs
    prewarm_bytes: int = 512 * MIB  # memory of these at most, in all servers of the user together
    limits: Limits = field(default_factory=Limits)  # of a request that gives none
    isolation: str = "auto"  # "auto": cells, or containers if no cell works; or "container"
    runtime: str = ""  # of containers; empty: the engine's own
    name_moves: Mapping[str, str] = field(default_factory=dict)  # moves rows of the table of names
    storage: Path | None = None  # the server's own folder; no program sees it, even in the project
    sole: Request | None = None  # if there is one run alone: nothing is prewarmed for others
    packages: PackageSettings = field(default_factory=PackageSettings)
    # Gets a sentence on each defect that shows while a program is judged.
    report: Callable[[Exception], str] = repr

    @property
    def names(self) -> ObeyedNames:
        """Return which changes to a project are never committed, and which are held for review."""
        # The table costs 20 ms to load, and only a commit asks for it.
        from executor.project.rules.names import names_after  # noqa: PLC0415

        return names_after(tuple(self.name_moves.items()))
