"""The server of the page: on the loopback address alone, for one person, until nobody looks."""

from __future__ import annotations

from collections.abc import Callable

import trio
from hypercorn.config import Config as Hypercorn

from ctxmode.config.locations import Config
from ctxmode.insight.security import Entrance, Gate
from ctxmode.insight.site import Site
from ctxmode.mcp.http.connections import Connections, listen

HOST = "127.0.0.1"
IDLE_S_MAX = 30 * 60.0
CONNECTIONS_MAX = 32


async def serve_insight(
    config: Config,
    port: int,
    announce: Callable[[str], None],
    *,
    idle_s: float = IDLE_S_MAX,
) -> None:
    """Serve until cancelled, or until nobody has asked for so long. `announce` gets the address
    with its key.

    Raises:
        UsageError: there is no such port.
        ContextModeError: it cannot be listened on.
    """
    listener = listen(HOST, port)
    entrance = Entrance(f"{HOST}:{listener.getsockname()[1]}")
    with trio.CancelScope() as scope:

        def postpone() -> None:
            scope.deadline = trio.current_time() + idle_s

        postpone()
        gate = Gate(Site(config), entrance, postpone)
        announce(entrance.address)
        await Connections(gate, Hypercorn(), CONNECTIONS_MAX).serve(listener)
