"""Opening of the engine that runs a project's programs, and of the fleet of other machines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio

from ctxmode.config.locations import Config
from executor import open_engine

if TYPE_CHECKING:
    import policy
    from executor import Completed, LocalEngine, Request, Settings
    from fleet import Fleet


@asynccontextmanager
async def open_engines(
    config: Config,
    rules: Callable[[], policy.Rules],
    settings: Settings,
    url: str,
    keep_answer: Callable[[Request, Completed], Awaitable[object]],
) -> AsyncIterator[tuple[LocalEngine, Fleet | None]]:
    """Open this machine's engine, and the fleet that takes its runs if there is a cluster's URL.
    `keep_answer` stores the output of runs that no caller waits for any more."""
    async with open_engine(
        project=config.project,
        state_dir=config.state_dir,
        rules=rules,
        home=config.home,
        settings=settings,
    ) as engine:
        if not url:
            yield engine, None
            return
        from ctxmode.config.cluster import load_cluster  # noqa: PLC0415 - only with a cluster
        from fleet import open_fleet  # noqa: PLC0415 - as above

        cluster = await trio.to_thread.run_sync(load_cluster, config, url)
        folder = config.state_dir / "fleet"
        async with open_fleet(engine, cluster, folder, keep_answer) as fleet:
            yield engine, fleet
