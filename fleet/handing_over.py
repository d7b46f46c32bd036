"""What a worker hands back of a run: files in a folder, see `fleet.doer`."""

from __future__ import annotations

from pathlib import Path

from executor.engine.engine import Completed
from fleet.model import Order


def hand_over(
    completed: Completed, order: Order, worker: str, changes: Path | None, out: Path
) -> None:
    """Write what came of an order into the empty folder `out`; spools and artifacts are moved.

    `worker` is the worker's name. `changes` is the folder of what the engine has kept, below its
    state folder: the run's change set is taken from there, and dropped.

    Raises:
        OSError: there is no room, or something is gone.
    """
    raise NotImplementedError
