"""Where an engine is: the URL of `cluster.url`, taken apart."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from fleet.errors import ClusterError

_LONGEST = 2048


@dataclass(frozen=True, slots=True)
class Address:
    """An engine's scheme, host and port; `instance` names a part of it that is a client's own."""

    scheme: str
    host: str
    port: int
    instance: str = ""

    @property
    def target(self) -> str:
        """Host and port as one text; IPv6 in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether it is surely this machine."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def parse_address(url: str, ports: dict[str, int]) -> Address:
    """Take a URL apart. `ports` has the port of each scheme that is known, where none is given.

    Raises:
        ClusterError: a part of it is wrong; the hint shows the schemes.
    """
    hint = f"such as {' or '.join(f'{one}://host:{port}' for one, port in sorted(ports.items()))}"
    if len(url) > _LONGEST or not url.isascii() or not url.isprintable():
        raise ClusterError("the cluster's URL is too long, or has characters no URL has", hint)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:  # a port out of range, half a pair of brackets
        raise ClusterError(f"the cluster's URL {url!r} can't be read: {error}", hint) from None
    if parts.scheme not in ports:
        raise ClusterError(f"no engine has the scheme {parts.scheme!r}", hint)
    if not host:
        raise ClusterError(f"the cluster's URL {url!r} names no host", hint)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ClusterError("the cluster's URL has more than scheme, host, port, instance", hint)
    if port == 0:
        raise ClusterError(f"the cluster's URL {url!r} names port 0", hint)
    return Address(parts.scheme, host, port or ports[parts.scheme], parts.path.strip("/"))
