"""Profiles: what a run may touch. Two are built in; users define others, projects tighten them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from executor.network import Allowlist


class ProjectAccess(StrEnum):
    """How the project appears to the program."""

    COPY_ON_WRITE = "cow"  # writable to the program, nothing persists
    READ_ONLY = "read_only"
    LIVE = "live"  # writes reach the disk, protected paths excepted


NO_NETWORK = Allowlist()


@dataclass(frozen=True, slots=True)
class Profile:
    """A named grant.

    `network` are names to connect to, `env` names of variables and `read` paths of the host that
    are passed through; `floor` is the weakest tier it may run in.
    """

    name: str
    project: ProjectAccess
    network: Allowlist = NO_NETWORK
    env: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    floor: str = "B"


ANALYZE = Profile("analyze", ProjectAccess.COPY_ON_WRITE)
BUILD = Profile("build", ProjectAccess.LIVE)
PROFILES = {profile.name: profile for profile in (ANALYZE, BUILD)}
