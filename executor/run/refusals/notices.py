"""Refusals that a box's supervisor saw, and whether this machine has the requested things."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from executor.model import Refusal
from executor.network import Allowlist
from executor.spawner.messages import Notice
from executor.spawner.refusal_counts import LOOKED_UP

# Failed attempts that a program handles itself are not reported: a row with `if_failed` appears
# only if the run did not end well. The other rows also appear for a run that ended well.

EXACT, TOLD, INFERRED = "exact", "told", "inferred"
NOTHING = "nothing grants it"
BY_NAME = 'by name: network = ["HOST"] in one of your profiles, then through HTTPS_PROXY'


class Source(NamedTuple):
    """One way to detect refusals. `{target}` in a remedy stands for the refused thing."""

    kind: str
    by: str
    certainty: str
    remedy: str
    if_failed: bool = False
    if_error: int = 0  # which the program's errors name, too: not reported alone

    def found(self, target: str, count: int = 1, why: str = "") -> FoundRefusal:
        """Return one refusal of this row; `why` is the additional reason of the refusing part."""
        by = f"{self.by}: {why}" if why else self.by
        remedy = self.remedy.replace("{target}", target)
        return self, Refusal(self.kind, target, by, self.certainty, count, remedy)


FoundRefusal = tuple[Source, Refusal]
"""A refusal, and before it its row."""


TABLE = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text("utf-8"))


SOURCES = {
    name: Source(
        **{"remedy": NOTHING} | row | {"if_error": getattr(errno, row.get("if_error", ""), 0)}
    )
    for name, row in TABLE["sources"].items()
}


LISTENS = "0A"  # the state of a socket in /proc/net/tcp
# Addresses as these files have them, in the processor's order of bytes: any, and the loopback.
NEAR = ("00000000", "0100007F", "7F000001", "0" * 32, "0" * 24 + "01000000", "0" * 31 + "1")


class HostLooks:
    """Looks at the host's own files."""

    def has_path(self, path: str) -> bool:
        return os.path.lexists(path)

    def has_socket(self, path: str) -> bool:
        """Return whether a socket is there; other files are never reported through a connection."""
        try:
            return stat.S_ISSOCK(os.stat(path).st_mode)
        except (OSError, ValueError):
            return False

    def has_abstract(self, name: str) -> bool:
        """Return whether a socket has this abstract name, with `@` in front."""
        return any(line.endswith(f" {name}") for line in _lines("/proc/net/unix"))

    def listens(self, port: int) -> bool:
        """Return whether something listens on a port of the loopback, or of every interface."""
        for path in ("/proc/net/tcp", "/proc/net/tcp6"):
            for line in _lines(path):
                fields = line.split()
                if len(fields) > 3 and fields[3] == LISTENS:
                    address, _, number = fields[1].rpartition(":")
                    if address in NEAR and int(number, 16) == port:
                        return True
        return False


class NoLooks(HostLooks):
    """No looks: a look took too long."""

    def has_path(self, path: str) -> bool:
        del path
        return False

    def has_socket(self, path: str) -> bool:
        del path
        return False

    def has_abstract(self, name: str) -> bool:
        del name
        return False

    def listens(self, port: int) -> bool:
        del port
        return False


def _lines(path: str) -> Iterator[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            yield from file.read().splitlines()[1:]
    except OSError:
        return


PROBES = frozenset(TABLE["probes"])
# Families of sockets that libraries try so.
PROBED_FAMILIES = frozenset((int(socket.AF_ALG),))
INTERNET = frozenset((int(socket.AF_INET), int(socket.AF_INET6)))
LIBRARY_SOCKETS = tuple(TABLE["library_sockets"])


Homes = tuple[str, str, str]
"""The project and the home as the box's program sees them, and this user's home."""


def of_notices(
    notices: Iterable[Notice],
    allowed: Allowlist,
    names: Mapping[int, str],
    homes: Homes,
    host: HostLooks,
) -> Iterator[FoundRefusal]:
    """Yield the refusals among a supervisor's counts; `names` has the calls by number.

    A port of the loopback counts if the host listens there, which takes milliseconds to check.
    """
    for number, target, count in notices:
        if number == LOOKED_UP:
            yield _of_name(target, count, allowed)
            continue
        name = names.get(number, f"call {number}")
        if name == "connect":
            kind, _, address = target.partition(" ")
            if kind == "unix":
                one = _of_unix(address, count, homes, host)
            else:
                one = _of_address(kind, address, count, host)
            if one:
                yield one
        elif name == "socket":
            family = int(target) if target.isdigit() else -1
            kind = "internet" if family in INTERNET else "call"
            source = SOURCES["probe" if family in PROBED_FAMILIES else kind]
            yield source.found(f"socket({_name_family(family)})", count)
        else:
            yield SOURCES["probe" if name in PROBES else "call"].found(name, count)


def _of_name(name: str, count: int, allowed: Allowlist) -> FoundRefusal:
    from runtimes.packages import ECOSYSTEMS  # noqa: PLC0415 - most look up no name

    if any(rule.allows(name, rule.port or 443) for rule in allowed.rules):
        return SOURCES["granted name"].found(name, count)
    is_registry = any(urlsplit(row.registry).hostname == name for row in ECOSYSTEMS)
    return SOURCES["registry" if is_registry else "name"].found(name, count)


def _of_address(kind: str, address: str, count: int, host: HostLooks) -> FoundRefusal | None:
    text, _, port = address.rpartition(":")
    try:
        found = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
    found = getattr(found, "ipv4_mapped", None) or found
    if found.is_loopback or found.is_unspecified:
        if kind == "udp" or not port.isdigit() or not host.listens(int(port)):
            return None
        return SOURCES["loopback"].found(f"localhost:{port}", count)
    if kind == "udp":
        return SOURCES["datagram"].found(f"{address} by UDP", count)
    return SOURCES["stream"].found(address, count)


def _of_unix(path: str, count: int, homes: Homes, host: HostLooks) -> FoundRefusal | None:
    if path.startswith("@"):
        return SOURCES["host socket"].found(path, count) if host.has_abstract(path) else None
    path = os.path.normpath(path)
    project, home, host_home = homes
    if path.startswith(f"{project}/"):
        target = path[len(project) + 1 :]
        return SOURCES["project socket"].found(target, count) if host.has_socket(path) else None
    if path.startswith(f"{home}/"):
        path = f"{host_home}{path[len(home) :]}"
    if not host.has_socket(path):
        return None
    is_usual = any(path == usual or path.startswith(usual) for usual in LIBRARY_SOCKETS)
    return SOURCES["library socket" if is_usual else "host socket"].found(path, count)


def _name_family(number: int) -> str:
    try:
        return socket.AddressFamily(number).name
    except ValueError:
        return f"family {number}"
