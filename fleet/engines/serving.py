"""Serving an engine as one of its workers, by the scheme of its URL."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import trio

from fleet.doer import Doer
from fleet.engines import find_engine, installed
from fleet.engines.address import Address
from fleet.engines.credentials import Credentials


@dataclass(frozen=True, slots=True)
class Serving:
    """How a worker serves: its name, which no other worker of the engine has, and what it can.

    It does at most `at_once` orders at a time. `properties` are what placements ask for. What is
    handed back lies below `folder` until the engine has it, else in the system's place for
    temporary files. Once `leave` is set it takes no orders any more, and ends after the last.
    """

    name: str
    at_once: int
    properties: tuple[tuple[str, str], ...]
    folder: Path | None = None
    leave: trio.Event = field(default_factory=trio.Event)


@dataclass(frozen=True, slots=True)
class Place:
    """An engine that is served: where it is, who may be it, and where its blobs are."""

    address: Address
    credentials: Credentials | None
    blobs_url: str = ""


ServeEngine = Callable[[Place, Doer, Serving], Awaitable[None]]


async def _serve_reapi(place: Place, doer: Doer, how: Serving) -> None:
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # or its core writes to our stderr
    from fleet.engines.reapi.bot import serve_reapi  # noqa: PLC0415 - grpc, where it is asked for

    await serve_reapi(place, doer, how)


async def _serve_dask(place: Place, doer: Doer, how: Serving) -> None:
    from fleet.engines.dask.serving import serve_dask  # noqa: PLC0415 - takes half a second

    await serve_dask(place, doer, how)


SERVERS: Final[dict[str, ServeEngine]] = {
    "grpcs": _serve_reapi,
    "grpc": _serve_reapi,
    "dask+tls": _serve_dask,
    "dask": _serve_dask,
}
"""How each engine of `ENGINES` is served."""


async def serve(
    url: str, credentials: Credentials | None, blobs_url: str, doer: Doer, how: Serving
) -> None:
    """Do what an engine gives, until this is cancelled or told to leave.

    An engine that does not answer is asked again, with pauses of up to ten seconds. What was
    under way when this is cancelled is given back to it.

    Raises:
        ClusterError: the URL, the credentials, this installation or the engine do not do; the hint
            says what would.
    """
    address, row = find_engine(url, credentials, blobs_url)
    place = Place(address, None if row.is_plain else credentials, blobs_url)
    with installed(address, row):
        await SERVERS[address.scheme](place, doer, how)
