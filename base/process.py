"""This process as the kernel describes it: its capabilities and its mounts.

Root in a container may have few or no capabilities. Sources: capabilities(7),
proc_pid_mountinfo(5).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

CHOWN: Final = 0
DAC_OVERRIDE: Final = 1
FOWNER: Final = 3
KILL: Final = 5
SETGID: Final = 6
SETUID: Final = 7
SYS_ADMIN: Final = 21


def holds(*capabilities: int) -> bool:
    """Return whether all of them are in effect, in the user namespace of this process."""
    try:
        with open("/proc/thread-self/status", encoding="ascii", errors="replace") as status:
            found = next((line for line in status if line.startswith("CapEff:")), "CapEff: 0")
    except OSError:
        return False
    effective = int(found.split()[1], 16)
    return all(effective >> each & 1 for each in capabilities)


MOUNT_TABLE = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(rb"\\([0-7]{3})")


Mount = tuple[str, str, tuple[str, ...]]
"""One row: the path of a file system, its kind, and the options of its superblock."""


def read_mounts(table: Path | None = None) -> list[Mount]:
    """Read all rows, in the kernel's order: of two at one path the later one is seen.

    Raises:
        OSError: the table can't be read.
    """
    return [_read_row(line) for line in (table or MOUNT_TABLE).read_bytes().splitlines()]


def mounts_below(folder: str) -> list[str]:
    """List the paths of mounts inside a folder, a real path.

    Raises:
        OSError: the table can't be read.
    """
    inside = folder.rstrip("/") + "/"
    return [path for path, *_ in read_mounts() if path.startswith(inside)]


def _read_row(line: bytes) -> Mount:
    place, _, system = line.partition(b" - ")
    kind, _, options = system.split(b" ", 2)
    path = _unescape(place.split(b" ", 5)[4])
    return path, os.fsdecode(kind), tuple(os.fsdecode(options).split(","))


def _unescape(path: bytes) -> str:
    if b"\\" in path:
        path = _ESCAPE.sub(lambda found: bytes([int(found[1], 8)]), path)
    return os.fsdecode(path)
