"""What a user can set of the executor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from executor.model import MIB, Limits
from executor.packages.model import PackageSettings
from executor.profile import PROFILES, Profile
from executor.sessions.registry import SessionLimits

if TYPE_CHECKING:
    from executor.project.rules.names import ObeyedNames


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of an executor. Only `sole_language` and `report` are no user's to set."""

    inline_bytes: int = 4096  # how much of each stream a result holds
    concurrency: int | None = None  # how many programs run at once; None: twice the processors
    # All that requests may name.
    profiles: Mapping[str, Profile] = field(default_factory=lambda: PROFILES)
    # Bounds to what lives on between calls.
    sessions: SessionLimits = field(default_factory=SessionLimits)
    prewarm: bool = True  # whether programs are started before their runs
    prewarm_bytes: int = 512 * MIB  # memory of these at most, in all servers of the user together
    limits: Limits = field(default_factory=Limits)  # of a request that gives none
    isolation: str = "auto"  # "auto": cells, and containers only where none works; or "container"
    runtime: str = ""  # of containers; empty: the engine's own
    name_moves: Mapping[str, str] = field(default_factory=dict)  # moves rows of the table of names
    storage: Path | None = None  # the server's own folder; no program sees it, even in the project
    sole_language: str = ""  # for a single run, of that language: nothing is prewarmed
    packages: PackageSettings = field(default_factory=PackageSettings)
    # Gets a sentence on each defect that shows while a program is judged.
    report: Callable[[Exception], str] = repr

    @property
    def names(self) -> ObeyedNames:
        """Which changes to a project are never committed, and which wait for a person."""
        # The table costs 20 ms to load, and only a commit asks for it.
        from executor.project.rules.names import names_after  # noqa: PLC0415

        return names_after(tuple(self.name_moves.items()))
