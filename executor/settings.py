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
    """What a user can set of the executor.

    `inline_bytes` is how much of each stream a result holds. `concurrency` is how many programs run
    at once, None meaning twice the processors. `profiles` are all that requests may name;
    `sessions` bounds what lives on between calls. With `prewarm` programs are started before their
    runs; these take at most `prewarm_bytes` of memory in all servers of the user together. `limits`
    are those of a request that gives none. `isolation` is "auto", for cells and only where none
    works containers, or "container"; their `runtime` is the engine's own unless it is named.
    `name_moves` moves rows of the table of names. `storage` is a folder of the server's own, which
    no program sees though it may lie in the project. The last two are no user's to set. With
    `sole_language` the executor is for a single run, of that language, and prewarms nothing.
    `report` gets a sentence on each defect that shows while a program is judged. `packages` is what
    is set of them.
    """

    inline_bytes: int = 4096
    concurrency: int | None = None
    profiles: Mapping[str, Profile] = field(default_factory=lambda: PROFILES)
    sessions: SessionLimits = field(default_factory=SessionLimits)
    prewarm: bool = True
    prewarm_bytes: int = 512 * MIB
    limits: Limits = field(default_factory=Limits)
    isolation: str = "auto"
    runtime: str = ""
    name_moves: Mapping[str, str] = field(default_factory=dict)
    storage: Path | None = None
    sole_language: str = ""
    packages: PackageSettings = field(default_factory=PackageSettings)
    report: Callable[[Exception], str] = repr

    @property
    def names(self) -> ObeyedNames:
        """Which changes to a project are never committed, and which wait for a person."""
        # The table costs 20 ms to load, and only a commit asks for it.
        from executor.project.rules.names import names_after  # noqa: PLC0415

        return names_after(tuple(self.name_moves.items()))
