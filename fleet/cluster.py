"""A Dask cluster: its address, its settings, and the certificates of its machines."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn
from urllib.parse import urlsplit

import trio

from base.plain_files import open_plain
from executor import RequestError
from fleet.turns import Quota
from fleet.upload_filter import Terms

if TYPE_CHECKING:
    from fleet.dask.client import DaskRuns

PORT: Final = 8786
PLAIN, ENCRYPTED = "dask", "dask+tls"
INSTALL: Final = "pip install 'ctxmode[dask]'"
OPEN_S_MAX = 10.0
AGAIN_S = 5.0
"""Callers fail at once for this long after a failed try: each of many runs would wait again."""
_URL_MAX = 2048
_PEM_BYTES_MAX = 1 << 20
_HINT = f"Use a URL such as {ENCRYPTED}://host:{PORT} or {PLAIN}://127.0.0.1:{PORT}."


class ClusterError(RequestError):
    """The engine cannot be used as configured; `hint` says what to do. Nothing was run."""


class UnreachableError(Exception):
    """The engine does not answer now, in its own words; trying again later can help."""


@contextlib.contextmanager
def single_error() -> Iterator[None]:
    """Raise the error that nurseries have wrapped, or the first of several."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


@dataclass(frozen=True, slots=True)
class Credentials:
    """PEM files of the two sides of a connection."""

    ca: Path  # the authorities that the other side's certificate must be from
    certificate: Path  # of this side
    key: Path  # of `certificate`


@dataclass(frozen=True, slots=True)
class Cluster:
    """A scheduler's host and port, the certificates if it is encrypted, and the URL of the folder
    that all its machines reach."""

    host: str
    port: int
    credentials: Credentials | None
    blobs: str

    @property
    def target(self) -> str:
        """Host and port as one text; IPv6 in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def scheduler(self) -> str:
        """The scheduler's address, as Dask writes it."""
        return f"{'tcp' if self.credentials is None else 'tls'}://{self.target}"


def find_cluster(url: str, credentials: Credentials | None, blobs: str) -> Cluster:
    """Parse a cluster's URL, and check that the settings it needs are set.

    Raises:
        ClusterError: the URL is not that of a cluster that may be reached this way.
    """
    if len(url) > _URL_MAX or not url.isascii() or not url.isprintable():
        raise ClusterError("the cluster's URL is too long, or has invalid characters", _HINT)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:  # a port out of range, half a pair of brackets
        raise ClusterError(f"cannot read the cluster's URL {url!r}: {error}", _HINT) from None
    if parts.scheme not in (PLAIN, ENCRYPTED):
        raise ClusterError(f"only Dask clusters are supported, not {parts.scheme!r}", _HINT)
    if not host:
        raise ClusterError(f"the cluster's URL {url!r} has no host", _HINT)
    if "@" in parts.netloc or parts.path.strip("/") or parts.query or parts.fragment:
        raise ClusterError("the cluster's URL has more than scheme, host and port", _HINT)
    if port == 0:
        raise ClusterError(f"the cluster's URL {url!r} has port 0", _HINT)
    cluster = Cluster(host, port or PORT, None if parts.scheme == PLAIN else credentials, blobs)
    if parts.scheme == PLAIN and not _is_loopback(host):
        better = f"Use {ENCRYPTED}://{cluster.target}."
        raise ClusterError(f"{PLAIN}:// works only for this machine", better)
    if parts.scheme == ENCRYPTED and credentials is None:
        raise ClusterError(
            f"{ENCRYPTED}:// needs certificates",
            "Set cluster.ca, cluster.certificate and cluster.key.",
        )
    if not blobs:
        raise ClusterError(
            "a cluster needs a folder for files",
            "Set cluster.blobs to a URL that all its machines reach, such as s3://bucket/folder "
            "or file:///shared/folder.",
        )
    return cluster


def check_credentials(files: Credentials) -> None:
    """Check that the files of credentials can be used.

    Raises:
        ClusterError: a file can't be read or is not PEM, or others may read the key.
    """
    _check_pem(files.key, "cluster.key", is_secret=True)
    _check_pem(files.certificate, "cluster.certificate")
    _check_pem(files.ca, "cluster.ca")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_pem(path: Path, setting: str, *, is_secret: bool = False) -> None:
    try:
        with open_plain(path) as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = file.read(_PEM_BYTES_MAX)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ClusterError(f"{setting}: cannot read {path}: {reason}", "Fix the path.") from None
    if is_secret and mode & 0o077:
        raise ClusterError(f"others may read {path}, the key of {setting}", f"chmod 600 {path}")
    if b"-----BEGIN " not in content:
        raise ClusterError(f"{setting} is not a PEM file: {path}", "Fix the path.")


class Connection:
    """A cluster that stays open until the stack ends."""

    def __init__(
        self, opens: Callable[[], AbstractAsyncContextManager[DaskRuns]], stack: AsyncExitStack
    ) -> None:
        self._opens = opens
        self._stack = stack
        self._lock = trio.Lock()
        self._engine: DaskRuns | None = None
        self._failed = UnreachableError("no connection was tried yet")
        self._try_at = 0.0

    @property
    def is_open(self) -> bool:
        """Return whether a cluster was opened, even if it does not answer now."""
        return self._engine is not None

    async def engine(self) -> DaskRuns:
        """Return the cluster, opened if necessary.

        Raises:
            ClusterError: it can't be used as it is set up.
            UnreachableError: it does not answer, or did not a moment ago.
        """
        async with self._lock:
            if self._engine is None:
                if trio.current_time() < self._try_at:
                    raise self._failed
                try:
                    with trio.fail_after(OPEN_S_MAX):
                        self._engine = await self._stack.enter_async_context(self._opens())
                except trio.TooSlowError:
                    self._fail(UnreachableError(f"it did not answer for {OPEN_S_MAX:.0f} s"))
                except UnreachableError as error:
                    self._fail(error)
            return self._engine

    def _fail(self, error: UnreachableError) -> NoReturn:
        self._failed, self._try_at = error, trio.current_time() + AGAIN_S
        raise error


class Send(StrEnum):
    """The runs that are sent: those for which this machine has no room, or all."""

    OVERFLOW = "overflow"
    ALWAYS = "always"


class Fallback(StrEnum):
    """The handling of a run while the engine does not answer: run it here, wait, or fail."""

    LOCAL = "local"
    WAIT = "wait"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Settings of the fleet that a user makes."""

    url: str  # the cluster's
    seal: Path  # the file of this front's key, made if it is missing
    credentials: Credentials | None = None
    blobs: str = ""  # the URL of the storage that a front and its workers share
    send: Send = Send.OVERFLOW
    fallback: Fallback = Fallback.LOCAL
    sends_secrets: bool = False  # whether values that are secrets may be sent with a request
    at_once: int = 64  # limit of runs with the cluster at once
    wait_s: float = 3600.0  # how long a run waits in the cluster for a worker
    terms: Terms = field(default_factory=Terms)
    owners: Mapping[str, Quota] = field(default_factory=dict)  # quotas by owner
    usual: Quota = field(default_factory=Quota)  # the quota of all other owners
