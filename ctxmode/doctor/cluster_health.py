"""How the other machines fare that runs are sent to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor import Engine

if TYPE_CHECKING:
    from fleet.examining import FleetHealth


async def check_cluster(engine: Engine) -> FleetHealth | None:
    """Try the fleet part by part, with a run; None where runs stay on this machine."""
    if engine.at_once is None:
        return None
    from fleet.front import Fleet  # noqa: PLC0415 - who sends nothing loads nothing of it

    return await engine.examine() if isinstance(engine, Fleet) else None
