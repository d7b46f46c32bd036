"""Profiles: what a run may touch. Two are built in; users define others, projects tighten them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from executor.network import Allowlist


class ProjectAccess(StrEnum):
    """How the project appears to the program."""

    COPY_ON_WRITE = "cow"  # writable to the program, nothing persists
    COMMIT = "commit"  # the same, and what changed is committed at the run's end
    READ_ONLY = "read_only"
    LIVE = "live"  # bound as it is: weaker, for what can't work on a copy


NO_NETWORK = Allowlist()


@dataclass(frozen=True, slots=True)
class Profile:
    """A named grant."""

    name: str
    project: ProjectAccess
    network: Allowlist = NO_NETWORK  # names to connect to
    env: tuple[str, ...] = ()  # names of variables that are passed through
    read: tuple[str, ...] = ()  # paths of the host that are passed through
    floor: str = "B"  # the weakest tier it may run in
    sockets: tuple[str, ...] = ()  # Unix sockets of the project that a run may see
    stage: bool = False  # changes are kept for a person to apply


ANALYZE = Profile("analyze", ProjectAccess.COPY_ON_WRITE)
BUILD = Profile("build", ProjectAccess.COMMIT)
PROFILES = {profile.name: profile for profile in (ANALYZE, BUILD)}
