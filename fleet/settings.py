"""What is set of a fleet: where its engine is, what is sent there, and what holds meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from fleet.cluster import Credentials
from fleet.travel import Terms
from fleet.turns import Quota


class Send(StrEnum):
    """Which runs are sent: those for which this machine has no room, or all."""

    OVERFLOW = "overflow"
    ALWAYS = "always"


class Fallback(StrEnum):
    """What becomes of a run while the engine does not answer: it is run here, waits, or fails."""

    LOCAL = "local"
    WAIT = "wait"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """What a user sets of the fleet.

    `url` is the cluster's, `blobs` that of storage which a front and its workers share. `seal` is
    the file of this front's key, made if it is missing. At most `at_once` runs are with the
    cluster; one waits there for up to `wait_s` until a worker has it. With `sends_secrets` values
    that are secrets travel with a request. `owners` have their quotas, others the `usual` one.
    """

    url: str
    seal: Path
    credentials: Credentials | None = None
    blobs: str = ""
    send: Send = Send.OVERFLOW
    fallback: Fallback = Fallback.LOCAL
    sends_secrets: bool = False
    at_once: int = 64
    wait_s: float = 3600.0
    terms: Terms = field(default_factory=Terms)
    owners: Mapping[str, Quota] = field(default_factory=dict)
    usual: Quota = field(default_factory=Quota)
