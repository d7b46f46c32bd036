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
    """A named grant.

    `network` are names to connect to, `env` names of variables and `read` paths of the host that
    are passed through. `sockets` are Unix sockets of the project that a run may see. `floor` is the
    weakest tier it may run in. With `stage` changes are kept for a person to apply.
    """

    name: str
    project: ProjectAccess
    network: Allowlist = NO_NETWORK
    env: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    floor: str = "B"
    sockets: tuple[str, ...] = ()
    stage: bool = False


ANALYZE = Profile("analyze", ProjectAccess.COPY_ON_WRITE)
BUILD = Profile("build", ProjectAccess.COMMIT)
PROFILES = {profile.name: profile for profile in (ANALYZE, BUILD)}
