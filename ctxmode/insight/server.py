"""The server of the page: on the loopback address alone, for one person, until nobody looks."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable

import trio
from hypercorn.config import Config as Hypercorn

from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.insight.security import Entrance, Gate
from ctxmode.insight.site import Site
from ctxmode.mcp.http.connections import Connections

HOST = "127.0.0.1"
PORT_MAX = 65_535
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
    listener = _listen(port)
    entrance = Entrance(f"{HOST}:{listener.getsockname()[1]}")
    settings = Hypercorn()
    settings.alpn_protocols = ["http/1.1"]
    settings.errorlog = logging.getLogger("hypercorn.error")
    settings.include_server_header = False
    with trio.CancelScope() as scope:

        def postpone() -> None:
            scope.deadline = trio.current_time() + idle_s

        postpone()
        gate = Gate(Site(config), entrance, postpone)
        announce(entrance.address)
        stream = trio.SocketListener(trio.socket.from_stdlib_socket(listener))
        await Connections(gate, settings, CONNECTIONS_MAX).serve(stream)


def _listen(port: int) -> socket.socket:
    if not 0 <= port <= PORT_MAX:
        raise UsageError(f"there is no port {port}", f"Ports are 0 to {PORT_MAX}.")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise ContextModeError(
            f"cannot listen on {HOST} port {port}: {error.strerror}",
            "Choose another with --port; port 0 takes a free one.",
        ) from error
    return listener
