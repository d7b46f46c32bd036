"""Addresses that may be fetched: not this machine, its networks or its cloud's unless allowed.

`check_url` judges the text, `check_address` the resolved address. Both are called at every hop of a
redirect, and the connection must go to the judged address: a name may resolve to another one a
moment later.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

from base.wordlist import word_set

SCHEMES = {"http": 80, "https": 443}


def _ranges(*rows: tuple[str, str]) -> tuple[tuple[IPv4Network | IPv6Network, str], ...]:
    return tuple((ip_network(network), what) for network, what in rows)


# Addresses inside a machine, a house or a company: allowed by a switch. From the registries of
# special-purpose addresses of IANA (RFC 6890), whose RFC each row names.
PRIVATE_RANGES = _ranges(
    ("127.0.0.0/8", "this machine (RFC 1122)"),
    ("10.0.0.0/8", "a private network (RFC 1918)"),
    ("172.16.0.0/12", "a private network (RFC 1918)"),
    ("192.168.0.0/16", "a private network (RFC 1918)"),
    ("100.64.0.0/10", "a provider's shared network (RFC 6598)"),
    ("::1/128", "this machine (RFC 4291)"),
    ("fc00::/7", "a private network (RFC 4193)"),
    ("fec0::/10", "a private network (RFC 3879)"),
)
# Never allowed. The standard library knows other addresses that are not of the internet.
REFUSED_RANGES = _ranges(
    ("0.0.0.0/8", "not an address of another machine (RFC 1122)"),
    ("::/128", "not an address (RFC 4291)"),
    ("169.254.0.0/16", "link-local (RFC 3927)"),
    ("fe80::/10", "link-local (RFC 4291)"),
    ("192.0.0.0/24", "reserved (RFC 6890)"),
    ("192.88.99.0/24", "reserved (RFC 7526)"),
    ("64:ff9b:1::/48", "a translator's local use (RFC 8215)"),
    ("2001::/23", "of protocols, Teredo among them (RFC 2928, RFC 4380)"),
    ("3fff::/20", "documentation (RFC 9637)"),
    ("5f00::/16", "segment routing (RFC 9602)"),
)
# IPv6 addresses that carry an IPv4 one and count as that: network, and the bits to its right.
CARRIERS = tuple(
    (IPv6Network(network), shift)
    for network, shift in (
        ("::ffff:0:0/96", 0),  # mapped (RFC 4291)
        ("::ffff:0:0:0/96", 0),  # translated (RFC 2765)
        ("64:ff9b::/96", 0),  # NAT64 (RFC 6052)
        ("2002::/16", 80),  # 6to4 (RFC 3056)
        ("::/96", 0),  # compatible (RFC 4291)
    )
)
ISATAP = (0x00005EFE, 0x02005EFE)
"""The left half of an interface identifier that ends in an IPv4 address (RFC 5214)."""

METADATA_HOSTS = word_set(
    """metadata metadata.google.internal metadata.goog instance-data 169.254.169.254 169.254.170.2
    100.100.100.200 192.0.0.192 168.63.129.16 fd00:ec2::254 fd20:ce::254"""
)
PRIVATE_SUFFIXES = ("localhost", "local", "internal", "localdomain", "lan", "intranet", "home.arpa")
"""RFC 6761, RFC 6762, RFC 8375, and common names of networks."""

# Ports of other protocols, which a request could be made to use. From the Fetch Standard.
BAD_PORTS = frozenset(
    (0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
     102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
     465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
     993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666,
     6667, 6668, 6669, 6679, 6697, 10080, 11211)
)  # fmt: skip

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_NUMBERS = re.compile(rf"(?:{_NUMBER.pattern})(?:\.(?:{_NUMBER.pattern})){{0,3}}")


class CheckedUrl(NamedTuple):
    """A URL's parts as used to connect."""

    scheme: str = ""
    host: str = ""  # in lower case and ASCII, no trailing dot; addresses in the usual notation
    port: int = 0
    refused: str = ""  # why it is refused, if it is

    @property
    def allowed(self) -> bool:
        return not self.refused


def check_url(url: str, *, allow_private: bool = False) -> CheckedUrl:
    """Return whether a URL may be fetched. Does not resolve its name."""
    if any(c.isspace() or unicodedata.category(c) in ("Cc", "Cf") or c == "\\" for c in url):
        return CheckedUrl(refused="it holds spaces, control characters or backslashes")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return CheckedUrl(refused=f"it is malformed: {error}")
    scheme = parts.scheme.lower()
    if scheme not in SCHEMES:
        return CheckedUrl(scheme, refused=f"its scheme is {scheme or 'missing'}, not http or https")
    if "@" in parts.netloc:
        return CheckedUrl(scheme, refused="it holds credentials")
    port = SCHEMES[scheme] if port is None else port
    host = plain_host(parts.hostname or "")
    if not host or ("[" in parts.netloc) != (":" in host):
        return CheckedUrl(scheme, port=port, refused="its host is neither a name nor an address")
    refused = _why_not_host(host, allow_private=allow_private)
    if not refused and port in BAD_PORTS:
        refused = f"port {port} is another protocol's"
    return CheckedUrl(scheme, host, port, refused)


def check_address(address: str, *, allow_private: bool = False) -> str:
    """Return why a resolved address must not be connected to; empty if it may. With
    `allow_private`, this machine and private networks are allowed; link-local addresses and
    metadata services never are."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return f"{address!r} is not an address"
    if isinstance(parsed, IPv6Address):
        if parsed.scope_id:
            return "it names an interface of this machine"
        if (carried := _extract_ipv4(parsed)) is not None:
            return check_address(str(carried), allow_private=allow_private)
    if str(parsed) in METADATA_HOSTS:
        return f"{parsed} is a cloud's metadata service"
    for rows, is_refused in ((REFUSED_RANGES, True), (PRIVATE_RANGES, not allow_private)):
        for network, what in rows:
            if parsed in network:
                return f"{parsed} is {what}" if is_refused else ""
    is_special = parsed.is_multicast or not parsed.is_global
    return f"{parsed} is for special purposes (RFC 6890)" if is_special else ""


def is_public_address(address: str) -> bool:
    """Return whether an address is on the public internet, as a run's connections must be."""
    return not check_address(address)


def is_site_address(address: str) -> bool:
    """Return whether an address may be a server of the user's network, if the user declares it.
    Ranges for special purposes count: some networks use them. Link-local addresses, this machine
    and metadata services don't."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address) and (carried := _extract_ipv4(parsed)) is not None:
        parsed = carried
    if str(parsed) in METADATA_HOSTS:
        return False
    is_no_server = parsed.is_multicast or parsed.is_unspecified or parsed.is_loopback
    return not (is_no_server or parsed.is_link_local)


def plain_host(host: str) -> str:
    """Return a host in the one spelling used to compare and connect; empty if it is not a host.
    Full-width letters and other look-alikes become plain ones, and Unicode names their ASCII form
    (RFC 3490). IPv4 addresses in decimal, octal or hexadecimal become the dotted one."""
    host = unicodedata.normalize("NFKC", host).lower().removesuffix(".")
    try:
        if ":" in host:
            address = IPv6Address(host)
            return "" if address.scope_id else str(address)
        host = host if host.isascii() else host.encode("idna").decode("ascii").lower()
    except ValueError:
        return ""
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        return _ipv4(host)
    is_name = len(host) <= 253 and all(map(_LABEL.fullmatch, host.split(".")))
    return host if is_name else ""


def _why_not_host(host: str, *, allow_private: bool) -> str:
    if ":" in host or host.rpartition(".")[2].isdigit():
        return check_address(host, allow_private=allow_private)
    if host in METADATA_HOSTS:
        return f"{host} is a cloud's metadata service"
    if allow_private:
        return ""
    if "." not in host or host.endswith(tuple(f".{suffix}" for suffix in PRIVATE_SUFFIXES)):
        return f"{host} is a name of this machine or of a private network"
    return ""


def _ipv4(host: str) -> str:
    """Parse an IPv4 address in any of the notations that inet_aton(3) and browsers accept."""
    from socket import inet_aton  # noqa: PLC0415 - most hosts are names

    try:
        return str(IPv4Address(inet_aton(host))) if _NUMBERS.fullmatch(host) else ""
    except OSError:
        return ""


def _extract_ipv4(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 one carries; None if it carries none."""
    value = int(address)
    if value in (0, 1):
        return None
    for network, shift in CARRIERS:
        if address in network:
            return IPv4Address(value >> shift & 0xFFFFFFFF)
    if (value >> 32) & 0xFFFFFFFF in ISATAP:
        return IPv4Address(value & 0xFFFFFFFF)
    return None
