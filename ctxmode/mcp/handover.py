"""A client over stdio that goes from one server to another: to the shared instance, or back.

A server notes in a file in memory, which belongs to the client's own process, what another needs.
So a client also continues if its server was killed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import trio

from ctxmode.shared_instance import client

if TYPE_CHECKING:
    from ctxmode.mcp.protocol import Id
    from ctxmode.mcp.stdio import Connection
    from ctxmode.open_apps import OpenApps

NOTE_BYTES_MAX = 16 << 20
HAND_OVER_EVERY_S = 0.5
HAND_OVER_S_MAX = 30.0
HAND_BACK_EVERY_S = 0.05
HAND_BACK_S_MAX = 25.0


@dataclass(frozen=True, slots=True)
class Beside:
    """Resources of a server with several clients: their open projects, the name of this client, and
    the end of the process."""

    apps: OpenApps
    owner: str
    ending: trio.Event


class Journal:
    """The note of one client's server: its greeting, and the IDs of running requests."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._bytes = 0

    def read(self) -> tuple[Mapping[str, Any] | None, list[Id]]:
        """Read the last server's note; an empty one without such a server."""
        text = os.pread(self._descriptor, NOTE_BYTES_MAX, 0)
        self._bytes = len(text)
        known = json.loads(text) if text else {"greeting": None, "running": []}
        return known["greeting"], known["running"]

    def note(self, greeting: Mapping[str, Any] | None, running: Sequence[Id | None]) -> None:
        """Replace the note at once."""
        text = json.dumps({"greeting": greeting, "running": running}).encode()
        os.pwrite(self._descriptor, text.ljust(self._bytes), 0)
        self._bytes = len(text)


async def hand_over(connection: Connection) -> None:
    """End this server once the shared instance can serve its client, unless that has called a tool:
    the project that is open then stays."""
    with trio.move_on_after(HAND_OVER_S_MAX):
        await trio.sleep(HAND_OVER_EVERY_S)  # the first answers come before
        client.start()  # for other servers, if not for this one
        while not connection.has_called:
            await trio.sleep(HAND_OVER_EVERY_S)
            if connection.is_idle and client.is_reachable():
                connection.hand_over()


async def hand_back(connection: Connection, ending: trio.Event) -> None:
    """End with the process, at the latest after a time, and after the running calls."""
    await ending.wait()
    with trio.move_on_after(HAND_BACK_S_MAX):
        while not connection.is_idle:  # noqa: ASYNC110 - at the end, once
            await trio.sleep(HAND_BACK_EVERY_S)
    connection.hand_over()
