"""The bounds of fetching, and the answer of one address."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from ctxmode.errors import ContextModeError

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, for a port."""

Judge = Callable[[str], None]
"""Raises FetchError where a rule forbids a URL."""


class FetchError(ContextModeError):
    """An address could not be fetched, or may not be."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most that one address may cost. `bytes_max` holds before and after decompression;
    `retry_s_max` is the longest wait that a server may ask for."""

    total_s: float = 30.0
    idle_s: float = 10.0
    bytes_max: int = 20 * 1024 * 1024
    redirects_max: int = 5
    retries_max: int = 2
    retry_s_max: float = 10.0


@dataclass(frozen=True, slots=True)
class Network:
    """How to reach others. `allow_private` permits this machine and private networks;
    `certificates` of None are the system's."""

    resolve: Resolve
    allow_private: bool = False
    certificates: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class Validators:
    """What a server can compare to say that a page has not changed."""

    etag: str | None = None
    last_modified: str | None = None


ValidatorsOf = Callable[[str], Validators | None]
"""What is known of the address that a hop asks."""


@dataclass(frozen=True, slots=True)
class Response:
    """What the last hop answered. `unchanged` means that the validators still hold, and that there
    is no body."""

    url: str
    body: bytes = b""
    content_type: str = ""
    etag: str | None = None
    last_modified: str | None = None
    unchanged: bool = False
