"""What an engine says of a run that it was given."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fleet.tree import Digest


@dataclass(frozen=True, slots=True)
class Ticket:
    """A run that an engine has accepted: `name` is the engine's own, by which it is asked again."""

    run_id: str
    engine: str
    name: str
    order: Digest


class Cause(StrEnum):
    """Why a run has no outcome."""

    WORKER = "worker"  # it died, or left no outcome that holds
    ENGINE = "engine"  # which can't be reached, or knows nothing of the run any more
    BLOB = "blob"  # one is gone from the engine's storage
    NO_WORKER = "no_worker"  # of this protocol and this tier
    EXPIRED = "expired"  # nobody waits for it any more
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Lost:
    """A run of which an engine will not bring an outcome; `detail` is in its own words."""

    run_id: str
    cause: Cause
    detail: str = ""
    worker: str | None = None
