"""What a phase may connect to: one ecosystem's registries, and nothing else."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from executor.network.allowlist import PROXY_PORT, Allowlist, HostRule, parse
from executor.packages.model import Registry
from runtimes.packages.model import Ecosystem

LOOPBACK = ("localhost", "127.0.0.1")


class Reach(NamedTuple):
    """The registry's address, the names that its files come from, and the rules for the proxy."""

    url: str
    hosts: tuple[str, ...]
    network: Allowlist


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
    return Reach(url, hosts, Allowlist(tuple(rules), tuple(dict.fromkeys(ports))))


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
