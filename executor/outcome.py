"""From what a supervisor and a control group saw to the one status of a run. Pure."""

from __future__ import annotations

import signal

from executor.cells import Exit
from executor.cgroup import Consumption
from executor.model import Status

# Why the supervisor ended a run by itself.
SUPERVISOR_REASONS = {"cpu": Status.CPU_LIMIT, "memory": Status.MEMORY_LIMIT}
# Signals by which the kernel enforces a limit. Any program can send them to itself, so they are
# told as signals, with what they mean.
LIMIT_SIGNALS = {
    signal.SIGXCPU: "SIGXCPU, which the kernel sends at the limit of processor time",
    signal.SIGXFSZ: "SIGXFSZ, which the kernel sends at the limit of a file's size",
}


def status_of(end: Exit, stopped: Status | None, consumed: Consumption | None) -> Status:
    """The status of a run that was started.

    `stopped` is why the server had it ended, if it did. A program that met a limit, coped and
    exited 0 is ok; one that failed is given the limit as the cause.
    """
    forced = SUPERVISOR_REASONS.get(end.reason or "", stopped if end.reason else None)
    if forced:
        return forced
    if end.exit_code == 0:
        return Status.OK
    return _limit_met(end, consumed) or (Status.SIGNALLED if end.signal else Status.NONZERO_EXIT)


def _limit_met(end: Exit, consumed: Consumption | None) -> Status | None:
    if consumed and consumed.oom_kills:
        return Status.MEMORY_LIMIT
    if end.scratch_full:
        return Status.DISK_LIMIT
    if consumed and consumed.fork_refusals:
        return Status.PROCESS_LIMIT
    return None


def meaning_of(end: Exit) -> str:
    """What a reader may not know about the signal that ended a run; mostly nothing."""
    return LIMIT_SIGNALS[signal.Signals(end.signal)] if end.signal in LIMIT_SIGNALS else ""


def status_of_lost(stopped: Status | None, consumed: Consumption | None) -> Status:
    """The status of a run whose supervisor died with it."""
    if stopped:
        return stopped
    return Status.MEMORY_LIMIT if consumed and consumed.oom_kills else Status.SANDBOX_ERROR
