"""Settings of packages, what a run wants of them, and the registries that a phase may reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from executor.model import GIB
from executor.network.allowlist import PROXY_PORT, Allowlist, HostRule, parse
from runtimes.packages import Ecosystem


@dataclass(frozen=True, slots=True)
class Registry:
    """The source of an ecosystem's packages, as its user says; what is empty is the row's own."""

    url: str = ""
    hosts: tuple[str, ...] = ()
    private: bool = False  # its names may lie on addresses of a private network, or on this machine
    ca: str = ""  # text of certificates to trust besides the system's


@dataclass(frozen=True, slots=True)
class PackageSettings:
    """The settings of packages."""

    allow: frozenset[str] = frozenset()  # ecosystems that may fetch without asking a person
    cooldown_days: int = 3
    bytes_max: int = 4 * GIB  # of all layers together
    layer_bytes: int = 2 * GIB  # of one layer
    registries: Mapping[str, Registry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The packages that a request names: a text for the lock to be made of, or a lock's files."""

    ecosystem: str
    text: str = ""
    lock: Mapping[str, bytes] = field(default_factory=dict)
    file: str = ""  # what the text was read from
    indexes: tuple[str, ...] = ()  # registries that the text names

    @property
    def label(self) -> str:
        """The same for a reader, in a line."""
        words = ", ".join(self.lock) or ", ".join(self.text.split("\n"))
        return words if len(words) <= 120 else self.file or f"{words[:119]}…"


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of packages as a cell is to see it."""

    key: str
    folder: str  # on this host
    shown: tuple[tuple[str, str], ...]  # (path on the host, path in the cell)
    env: Mapping[str, str]
    paths: Mapping[str, str]  # executables in place of the toolchain's, by role
    arguments: tuple[str, ...]  # what the toolchain's templates have at `{packages}`
    lock: Mapping[str, bytes]
    was_kept: bool  # it was there before the request


@dataclass(frozen=True, slots=True)
class LayerInfo:
    """What is known of a kept layer."""

    key: str
    ecosystem: str
    packages: str
    bytes: int
    entries: int
    made_at: float
    used_at: float


LOOPBACK = ("localhost", "127.0.0.1")


Reach = tuple[str, tuple[str, ...], Allowlist]
"""The registry's address, the names that its files come from, and the rules for the proxy."""


def reach_of(row: Ecosystem, registry: Registry) -> Reach:
    """What an ecosystem's phases may reach, as its user says or else by its row.

    Raises:
        ValueError: an address can't be reached so; the message says what it should be.
    """
    url = (registry.url or row.registry).rstrip("/")
    name, port = _parts(url)
    # Who names a registry of their own does not want the files of the public one.
    hosts = registry.hosts or (() if registry.url else row.hosts)
    rules: list[HostRule] = []
    ports: list[int] = []
    for entry in dict.fromkeys((f"{name}:{port}" if port else name, *hosts)):
        if entry.partition(":")[0] in LOOPBACK:
            if not registry.private:
                raise ValueError(f"{entry} is this machine: say private = true to allow it")
            ports += parse((entry,)).loopback_ports
        else:
            (rule,) = parse((entry,)).rules
            rules.append(HostRule(rule.name, rule.subdomains, rule.port, registry.private))
    return url, hosts, Allowlist(tuple(rules), tuple(dict.fromkeys(ports)))


def _parts(url: str) -> tuple[str, int | None]:
    """The host and port of a registry's address.

    Raises:
        ValueError: it is none, or nothing protects the way there.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"{url!r} is no address: {error}") from error
    host = parts.hostname or ""
    if parts.scheme not in ("https", "http") or not host:
        raise ValueError(f"{url!r} is no address such as https://packages.example.com/simple")
    if "@" in parts.netloc:
        raise ValueError("a registry's address with a password would be shown to programs")
    if any(c.isspace() or c in "\"'`$\\" for c in url):
        raise ValueError(f"{url!r} holds blanks, quotes or signs of the shell")
    if parts.scheme == "http" and host not in LOOPBACK:
        raise ValueError(f"{url}: nothing protects the way there: write https")
    if host in LOOPBACK and port in (None, PROXY_PORT):
        raise ValueError(f"{url}: name its port, which can't be {PROXY_PORT}")
    return host, port
