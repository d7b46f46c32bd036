"""What a worker handed back, checked and brought to where a run's outcome is at the front."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from executor.engine.engine import Completed
from executor.project.view.record import Record
from executor.run.remote_commits import RemoteCommits
from fleet.dispatcher import Blobs, Delivery
from fleet.model import Order


@dataclass(frozen=True, slots=True)
class Landing:
    """Where at the front the outcome of one run is put.

    `folder` is empty, private and this run's own: spools and copies of artifacts stay there.
    `inline_bytes` of each stream are in the result. `commits` are the engine's; where the profile
    commits, `record` is `commits.record(profile)` of before the snapshot, and `unseen` are the
    paths that the snapshot left out: what a run left there, or below, is not committed.
    `label` says what ran, where changes are kept.
    """

    folder: Path
    inline_bytes: int
    commits: RemoteCommits
    label: str = ""
    record: Record | None = None
    unseen: frozenset[str] = frozenset()


async def bring_back(delivery: Delivery, blobs: Blobs, order: Order, landing: Landing) -> Completed:
    """Fetch what a worker handed back, check all of it, and commit what the run changed.

    The result is as of a local run, a commit that failed included. After an error nothing of it is
    left in the folder or the project. The caller deletes the folder.

    Raises:
        OutcomeError: the worker's outcome is none, another run's, or more than the order allows.
        BlobError, UnreachableError: it can't be fetched.
        OSError: there is no room at the front.
    """
    raise NotImplementedError
