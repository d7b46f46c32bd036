"""The engines that an order can be sent through, by the scheme of their URL."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final

from fleet.dispatcher import Dispatcher
from fleet.engines.address import Address, parse_address
from fleet.engines.credentials import Credentials
from fleet.errors import ClusterError

Opened = AbstractAsyncContextManager[Dispatcher]
OpenEngine = Callable[[Address, Credentials | None, str], Opened]


@dataclass(frozen=True, slots=True)
class EngineRow:
    """An engine: how it is opened, its port where the URL has none, and what installs it.

    `needs_blobs` is one that keeps no blobs itself.
    A plain scheme knows no certificates, and reaches this machine alone: `secure` is the scheme
    that reaches others.
    """

    open: OpenEngine
    port: int
    extra: str
    secure: str = ""
    needs_blobs: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the scheme is a plain one."""
        return bool(self.secure)


def _open_reapi(address: Address, credentials: Credentials | None, _: str) -> Opened:
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # or its core writes to our stderr
    from fleet.engines.reapi import open_reapi  # noqa: PLC0415 - grpc, where it is asked for

    return open_reapi(address, credentials)


def _open_dask(address: Address, credentials: Credentials | None, blobs_url: str) -> Opened:
    from fleet.engines.dask.opening import open_dask  # noqa: PLC0415 - takes half a second

    return open_dask(address, credentials, blobs_url)


ENGINES: Final = {
    "grpcs": EngineRow(_open_reapi, 8980, "cluster"),
    "grpc": EngineRow(_open_reapi, 8980, "cluster", secure="grpcs"),
    "dask+tls": EngineRow(_open_dask, 8786, "dask", needs_blobs=True),
    "dask": EngineRow(_open_dask, 8786, "dask", secure="dask+tls", needs_blobs=True),
}


def open_engine(url: str, credentials: Credentials | None, blobs_url: str = "") -> Opened:
    """The engine of a URL, which is opened, and tried, where the block begins.

    `blobs_url` is where its blobs are, for those that keep none themselves.

    Raises:
        ClusterError: the URL, the credentials or this installation do not do; the hint says what
            would. The block's beginning raises it, too, and UnreachableError.
    """
    address, row = find_engine(url, credentials, blobs_url)
    with installed(address, row):
        return row.open(address, None if row.is_plain else credentials, blobs_url)


def find_engine(
    url: str, credentials: Credentials | None, blobs_url: str
) -> tuple[Address, EngineRow]:
    """Where a URL leads, and by which engine.

    Raises:
        ClusterError: it leads to none, or to no place that may be reached so.
    """
    address = parse_address(url, {scheme: row.port for scheme, row in ENGINES.items()})
    row = ENGINES[address.scheme]
    if row.is_plain and not address.is_loopback:
        better = f"{row.secure}://{address.target}"
        raise ClusterError(f"{address.scheme}:// is for this machine alone", f"use {better}")
    if not row.is_plain and credentials is None:
        raise ClusterError(
            f"{address.scheme}:// needs certificates",
            "set cluster.ca, cluster.certificate and cluster.key",
        )
    if row.needs_blobs and not blobs_url:
        raise ClusterError(
            f"{address.scheme}:// keeps no files",
            "set cluster.blobs to what all its machines reach, such as s3://bucket/folder or "
            "file:///shared/folder",
        )
    if blobs_url and not row.needs_blobs:
        raise ClusterError(f"{address.scheme}:// keeps files itself", "remove cluster.blobs")
    return address, row


@contextlib.contextmanager
def installed(address: Address, row: EngineRow) -> Iterator[None]:
    """Say what installs an engine's modules where they are missing.

    Raises:
        ClusterError: they are.
    """
    try:
        yield
    except ImportError as error:
        raise ClusterError(
            f"{address.scheme}:// needs {error.name}",
            f"pip install 'ctxmode[{row.extra}]'",
        ) from None
