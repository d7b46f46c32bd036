"""From what a supervisor and a control group saw to the one status of a run. Pure."""

from __future__ import annotations

import signal

from executor.engine.exit import Consumption, Exit
from executor.model import MIB, Limits, Status

# Why the supervisor ended a run by itself.
SUPERVISOR_REASONS = {
    "cpu": Status.CPU_LIMIT,
    "memory": Status.MEMORY_LIMIT,
    "processes": Status.PROCESS_LIMIT,
}
# Signals by which the kernel enforces a limit. Any program can send them to itself, so the result
# reports them as signals and explains them.
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


def limits_met(
    status: Status, end: Exit | None, consumed: Consumption | None, limits: Limits | None
) -> str:
    """What was refused at a limit that the status does not name; empty if nothing was counted.

    A child of the run may have met the limit while the program itself exited 0.
    """
    met = []
    if consumed and consumed.oom_kills and status is not Status.MEMORY_LIMIT:
        whom = _count(consumed.oom_kills, "process of the run was", "processes of the run were")
        met.append(f"{whom} ended at the memory limit{_memory(limits)}")
    if consumed and consumed.fork_refusals and status is not Status.PROCESS_LIMIT:
        what = _count(consumed.fork_refusals, "start of a process was", "starts of processes were")
        met.append(f"{what} refused at the limit of {_processes(limits)}")
    if end and end.scratch_full and status is not Status.DISK_LIMIT:
        met.append("the scratch folder was full at the end of the run")
    return "; ".join(met)


def _count(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _memory(limits: Limits | None) -> str:
    return f" ({limits.memory_bytes / MIB:,.0f} MiB)" if limits else ""


def _processes(limits: Limits | None) -> str:
    return f"{limits.processes} processes" if limits else "processes"


def status_of_lost(stopped: Status | None, consumed: Consumption | None) -> Status:
    """The status of a run whose supervisor died with it."""
    if stopped:
        return stopped
    return Status.MEMORY_LIMIT if consumed and consumed.oom_kills else Status.SANDBOX_ERROR
