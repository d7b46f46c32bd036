"""Whether this machine is short of memory, so that what was made ahead has to go."""

from __future__ import annotations

from pathlib import Path

MEMORY = Path("/proc/meminfo")
# See Documentation/accounting/psi.rst of the kernel; not every kernel has it.
STALLS = Path("/proc/pressure/memory")
AVAILABLE_MIN = 0.08  # of all memory
STALLED_MAX = 10.0  # per cent of the last ten seconds in which some process waited for memory


def is_short(memory: Path = MEMORY, stalls: Path = STALLS) -> bool:
    """What can't be read counts as no shortage: limits hold in any case."""
    return _available(memory) < AVAILABLE_MIN or _stalled(stalls) > STALLED_MAX


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
