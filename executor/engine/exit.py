"""How a run in a box ends, and what it consumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from executor.errors import SandboxError


@dataclass(frozen=True, slots=True)
class Exit:
    """How a run's deciding step ended, as its supervisor saw it."""

    phase: str
    exit_code: int | None
    signal: int | None
    reason: str | None
    cpu_s: float
    peak_memory_bytes: int
    peak_processes: int
    scratch_full: bool
    changed: Sequence[tuple[str, str, int | None]]
    changed_omitted: int
    leaves_open: bool = False  # its ends of the pipes, though it writes nothing there any more
    # What its calls and look-ups were refused, as the supervisor counted it.
    refused: Sequence[tuple[int, str, int]] = ()
    refused_omitted: int = 0
    unstopped: str = ""  # why a session's processes had to be ended instead of stopped


class LostError(SandboxError):
    """A program that was held for its run was gone when the run came; nothing was started."""


@dataclass(frozen=True, slots=True)
class Consumption:
    """What a group's processes used and what they were refused."""

    peak_memory_bytes: int | None
    oom_kills: int
    fork_refusals: int

    def since(self, before: Consumption) -> Consumption:
        """What came after an earlier look; the peak is of the whole time."""
        return Consumption(
            self.peak_memory_bytes,
            self.oom_kills - before.oom_kills,
            self.fork_refusals - before.fork_refusals,
        )
