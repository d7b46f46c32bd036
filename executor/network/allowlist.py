"""The names that a run may connect to. Pure; strict, as every lenient reading was once a hole."""

from __future__ import annotations

import re
from dataclasses import dataclass

WEB_PORTS = (80, 443)
# One spelling per name: lower case, letters, digits and inner hyphens, no trailing dot. Whatever
# two programs could read differently (NUL, userinfo, percent signs, Unicode) is not a name.
_NAME = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*"
)
PROXY_PORT = 3128  # inside the cell, whose network is its own
_LOOPBACK_NAMES = ("localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class HostRule:
    """One entry: a name, on one port or the web's two."""

    name: str
    subdomains: bool = False  # all names below it, instead of the name
    port: int | None = None  # None: the web's two
    private: bool = False  # its address may be in a private network

    def allows(self, host: str, port: int) -> bool:
        if port not in ((self.port,) if self.port else WEB_PORTS):
            return False
        return host.endswith(f".{self.name}") if self.subdomains else host == self.name


@dataclass(frozen=True, slots=True)
class Allowlist:
    """The rules of a profile. Without any, nothing is allowed."""

    rules: tuple[HostRule, ...] = ()
    loopback_ports: tuple[int, ...] = ()  # of the host

    @property
    def is_open(self) -> bool:
        """Return whether any connection at all is allowed."""
        return bool(self.rules or self.loopback_ports)

    def describe(self) -> str:
        """Return the rules as they were written."""
        names = [
            f"{'*.' * rule.subdomains}{rule.name}{f':{rule.port}' if rule.port else ''}"
            for rule in self.rules
        ]
        return ", ".join((*names, *(f"localhost:{port}" for port in self.loopback_ports)))

    @property
    def listen(self) -> tuple[int, ...]:
        """Return the ports to serve inside the cell: the proxy's first, if names are allowed."""
        return ((PROXY_PORT,) if self.rules else ()) + self.loopback_ports

    def refuses(self, host: str, port: int) -> str:
        """Return why a connection may not be made; "" if it may."""
        if not _is_name(host):
            return "the host is not a plain lower-case domain name"
        if any(rule.allows(host, port) for rule in self.rules):
            return ""
        named = any(rule.name == host or rule.allows(host, 443) for rule in self.rules)
        return f"port {port} is not allowed for it" if named else "the profile does not name it"

    def may_be_private(self, host: str, port: int) -> bool:
        """Return whether a rule allows a host on a private network's address."""
        return any(rule.private and rule.allows(host, port) for rule in self.rules)


def parse(entries: tuple[str, ...]) -> Allowlist:
    """Parse an allowlist of `name`, `*.name`, `name:port`, `localhost:port`.

    Raises:
        ValueError: an entry is none of these; the message names the valid forms.
    """
    rules, loopback = [], []
    for entry in entries:
        host, colon, port_text = entry.partition(":")
        port = _port(entry, port_text) if colon else None
        subdomains = host.startswith("*.")
        name = host[2:] if subdomains else host
        if name in _LOOPBACK_NAMES and not subdomains:
            if port is None:
                raise ValueError(f"{entry!r}: name the port too, as in localhost:8080")
            if port == PROXY_PORT:
                raise ValueError(f"{entry!r}: this port is the proxy's own in a sandbox")
            loopback.append(port)
            continue
        if not _is_name(name) or (subdomains and "." not in name):
            raise ValueError(
                f"{entry!r} is not a name to connect to: write example.com, *.example.com, "
                "example.com:8443 or localhost:8080, in lower case"
            )
        rules.append(HostRule(name, subdomains, port))
    return Allowlist(tuple(rules), tuple(loopback))


def _port(entry: str, text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,4}", text) or int(text) > 65_535:
        raise ValueError(f"{entry!r}: the port must be a number from 1 to 65535")
    return int(text)


def _is_name(host: str) -> bool:
    """Return whether it is a domain name, not an address in any notation (decimal, octal …)."""
    if not _NAME.fullmatch(host) or host in _LOOPBACK_NAMES or host.endswith(".localhost"):
        return False
    last = host.rpartition(".")[2]
    return not re.fullmatch(r"[0-9]+|0x[0-9a-f]*", last)
