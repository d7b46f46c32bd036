"""Settings of packages, the packages of a request, and the registries that a phase may reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from executor.model import GIB
from executor.network.allowlist import PROXY_PORT, Allowlist, HostRule, parse
from runtimes.packages import Ecosystem


@dataclass(frozen=True, slots=True)
class Registry:
    """The source of an ecosystem's packages, as set by the user; empty values are the row's own."""

    url: str = ""
    hosts: tuple[str, ...] = ()
    private: bool = False  # its names may have addresses of a private network, or of this machine
    ca: str = ""  # text of certificates to trust in addition to the system's


@dataclass(frozen=True, slots=True)
class PackageSettings:
    """The settings of packages."""

    allow: frozenset[str] = frozenset()  # ecosystems that may fetch without approval
    cooldown_days: int = 3
    bytes_max: int = 4 * GIB  # of all layers together
    layer_bytes: int = 2 * GIB  # of one layer
    registries: Mapping[str, Registry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The packages that a request names: a text to make the lock from, or a lock's files."""

    ecosystem: str
    text: str = ""
    lock: Mapping[str, bytes] = field(default_factory=dict)
    file: str = ""  # the source of the text
    indexes: tuple[str, ...] = ()  # registries that the text names

    @property
    def label(self) -> str:
        """Return a one-line label for readers."""
        words = ", ".join(self.lock) or ", ".join(self.text.split("\n"))
        return words if len(words) <= 120 else self.file or f"{words[:119]}…"


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of packages as a cell shows it."""

    key: str
    shown: tuple[tuple[str, str], ...]  # (path on the host, path in the cell)
    env: Mapping[str, str]
    paths: Mapping[str, str]  # executables instead of the toolchain's, by role
    arguments: tuple[str, ...]  # the value of `{packages}` in the toolchain's templates
    lock: Mapping[str, bytes]
    was_kept: bool  # it was there before the request


@dataclass(frozen=True, slots=True)
class LayerInfo:
    """The properties of a stored layer."""

    key: str
    ecosystem: str
    packages: str
    bytes: int
    entries: int
    made_at: float
    used_at: float


LOOPBACK = ("localhost", "127.0.0.1")


Reach = tuple[str, tuple[str, ...], Allowlist]
"""The registry's address, the names of its files' hosts, and the rules for the proxy."""


def reach_of(row: Ecosystem, registry: Registry) -> Reach:
    """Return what an ecosystem's phases may reach, by the user's settings or else by its row.

    Raises:
        ValueError: an address cannot be used; the message says what it should be.
    """
    url = (registry.url or row.registry).rstrip("/")
    name, port = _parts(url)
    # A user with a separate registry does not want the files of the public one.
    hosts = registry.hosts or (() if registry.url else row.hosts)
    rules: list[HostRule] = []
    ports: list[int] = []
    for entry in dict.fromkeys((f"{name}:{port}" if port else name, *hosts)):
        if entry.partition(":")[0] in LOOPBACK:
            if not registry.private:
                raise ValueError(f"{entry} is this machine: set private = true to allow it")
            ports += parse((entry,)).loopback_ports
        else:
            (rule,) = parse((entry,)).rules
            rules.append(HostRule(rule.name, rule.subdomains, rule.port, registry.private))
    return url, hosts, Allowlist(tuple(rules), tuple(dict.fromkeys(ports)))


def _parts(url: str) -> tuple[str, int | None]:
    """Return the host and port of a registry's address.

    Raises:
        ValueError: it is not an address, or the connection is not protected.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"{url!r} is not an address: {error}") from error
    host = parts.hostname or ""
    if parts.scheme not in ("https", "http") or not host:
        raise ValueError(f"{url!r} is not an address such as https://packages.example.com/simple")
    if "@" in parts.netloc:
        raise ValueError("a registry's address with a password would be shown to programs")
    if any(c.isspace() or c in "\"'`$\\" for c in url):
        raise ValueError(f"{url!r} has blanks, quotes or special characters of the shell")
    if parts.scheme == "http" and host not in LOOPBACK:
        raise ValueError(f"{url}: the connection is not protected: use https")
    if host in LOOPBACK and port in (None, PROXY_PORT):
        raise ValueError(f"{url}: give its port, which cannot be {PROXY_PORT}")
    return host, port
