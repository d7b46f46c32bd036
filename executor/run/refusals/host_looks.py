"""What this machine has, asked about what a program tried. Whoever asks bounds the wait."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

LISTENS = "0A"  # the state of a socket in /proc/net/tcp
# Addresses as these files have them, in the processor's order of bytes: any, and the loopback.
NEAR = ("00000000", "0100007F", "7F000001", "0" * 32, "0" * 24 + "01000000", "0" * 31 + "1")


class HostLooks:
    """Looks at the host's own files."""

    def has_path(self, path: str) -> bool:
        return os.path.lexists(path)

    def has_socket(self, path: str) -> bool:
        """Whether a socket is there: of any other file nothing is told by way of a connection."""
        try:
            return stat.S_ISSOCK(os.stat(path).st_mode)
        except (OSError, ValueError):
            return False

    def has_abstract(self, name: str) -> bool:
        """Whether a socket has this abstract name, `@` in front."""
        return any(line.endswith(f" {name}") for line in _lines("/proc/net/unix"))

    def listens(self, port: int) -> bool:
        """Whether something listens on a port of the loopback, or of every interface."""
        for path in ("/proc/net/tcp", "/proc/net/tcp6"):
            for line in _lines(path):
                fields = line.split()
                if len(fields) > 3 and fields[3] == LISTENS:
                    address, _, number = fields[1].rpartition(":")
                    if address in NEAR and int(number, 16) == port:
                        return True
        return False


class NoLooks(HostLooks):
    """Looks at nothing: it took too long."""

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
