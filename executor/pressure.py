"""Whether the machine is short of memory, or this process of descriptors: what waits has to go."""

from __future__ import annotations

import os
import resource
from pathlib import Path

MEMORY = Path("/proc/meminfo")
# See Documentation/accounting/psi.rst of the kernel; not every kernel has it.
STALLS = Path("/proc/pressure/memory")
AVAILABLE_MIN = 0.08  # of all memory
DESCRIPTORS = Path("/proc/self/fd")
DESCRIPTORS_MAX = 0.6  # of what this process may have open: the others are for runs
STALLED_MAX = 10.0  # per cent of the last ten seconds in which some process waited for memory


def is_short(memory: Path = MEMORY, stalls: Path = STALLS) -> bool:
    """What can't be read counts as no shortage: limits hold in any case."""
    return (
        _available(memory) < AVAILABLE_MIN
        or _stalled(stalls) > STALLED_MAX
        or _open(DESCRIPTORS) > DESCRIPTORS_MAX
    )


def _available(file: Path) -> float:
    try:
        rows = (line.split() for line in file.read_text().splitlines())
        sizes = {row[0]: int(row[1]) for row in rows if len(row) > 1}
        return sizes["MemAvailable:"] / sizes["MemTotal:"]
    except (OSError, ValueError, KeyError, ZeroDivisionError):
        return 1.0


def _stalled(file: Path) -> float:
    try:
        words = file.read_text().split()
        return float(next(word for word in words if word.startswith("avg10=")).partition("=")[2])
    except (OSError, ValueError, StopIteration):
        return 0.0


def _open(folder: Path) -> float:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return 0.0
    try:
        return len(os.listdir(folder)) / limit
    except OSError:
        return 0.0
