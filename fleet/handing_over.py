"""What a worker hands back of a run: files in a folder, see `fleet.doer`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from executor.engine.engine import Completed
from fleet.doer import OUTCOME_FILE
from fleet.model import Order, Outcome


def hand_over(
    completed: Completed, order: Order, worker: str, changes: Path | None, out: Path
) -> None:
    """Write what came of an order into the empty folder `out`; spools and artifacts are moved.

    Raises:
        OSError: there is no room, or something is gone.
    """
    for name in ("stdout", "stderr"):
        spool = getattr(completed, f"{name}_spool")
        if spool is not None:
            spool.move_to(out / name)
    outcome = Outcome(order.run_id, worker, replace(completed.result, artifacts=()))
    (out / OUTCOME_FILE).write_bytes(outcome.encode())
