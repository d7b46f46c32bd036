"""The capabilities of this process (capabilities(7)); root in a container may have few or none."""

from __future__ import annotations

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
