"""Whether the machine is short of memory, or this process of descriptors."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

MEMORY = Path("/proc/meminfo")
# See Documentation/accounting/psi.rst of the kernel; not every kernel has it.
STALLS = Path("/proc/pressure/memory")
DESCRIPTORS = Path("/proc/self/fd")
AVAILABLE_MIN = 0.08  # of all memory
STALLED_MAX = 10.0  # per cent of the last ten seconds in which some process waited for memory
DESCRIPTORS_MAX = 0.6  # of what this process may have open: the others are for runs


def is_short(memory: Path = MEMORY, stalls: Path = STALLS) -> bool:
    """What can't be read counts as no shortage: limits hold in any case."""
    return (
        _available(memory) < AVAILABLE_MIN
        or _read_stall(stalls) > STALLED_MAX
        or _descriptors_used(DESCRIPTORS) > DESCRIPTORS_MAX
    )


def free_bytes(memory: Path = MEMORY) -> int:
    """Memory that new processes could have; without bound where the kernel does not say."""
    return _sizes(memory).get("MemAvailable:", sys.maxsize >> 10) * 1024


def _sizes(file: Path) -> dict[str, int]:
    """The rows of /proc/meminfo, in KiB."""
    try:
        rows = (line.split() for line in file.read_text().splitlines())
        return {row[0]: int(row[1]) for row in rows if len(row) > 1}
    except (OSError, ValueError):
        return {}


def _available(file: Path) -> float:
    """The share of all memory that can still be had."""
    sizes = _sizes(file)
    try:
        return sizes["MemAvailable:"] / sizes["MemTotal:"]
    except (KeyError, ZeroDivisionError):
        return 1.0


def _read_stall(file: Path) -> float:
    """Per cent of the last ten seconds."""
    try:
        words = file.read_text().split()
        return float(next(word for word in words if word.startswith("avg10=")).partition("=")[2])
    except (OSError, ValueError, StopIteration):
        return 0.0


def _descriptors_used(folder: Path) -> float:
    """The share of the descriptors that this process may have."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return 0.0
    try:
        return len(os.listdir(folder)) / limit
    except OSError:
        return 0.0
