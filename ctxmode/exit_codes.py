"""The exit codes of `context-mode`: one table, stable, and where each number comes from.

`run` exits with the program's own code. Only when the program had no say are the codes below
used; those from 116 to 126 leave alone what programs and shells commonly return.
"""

from __future__ import annotations

OK = 0
ERROR = 1
USAGE = 2
BUG = 3
INTERRUPTED = 130

# Statuses of a run in which no exit code of the program's own exists. 124 is what timeout(1)
# returns, 125 what docker-run returns when the engine fails, 126 what a shell returns for a
# program that it may not execute.
BY_STATUS: dict[str, int] = {
    "redirected": 117,
    "disk_limit": 118,
    "process_limit": 119,
    "output_limit": 120,
    "cpu_limit": 121,
    "memory_limit": 122,
    "timed_out": 124,
    "sandbox_unavailable": 125,
    "sandbox_error": 125,
    "denied": 126,
    "cancelled": INTERRUPTED,
}

# What `policy check` says of a program that was not run.
BY_DECISION: dict[str, int] = {"allow": OK, "ask": 116, "redirect": 117, "deny": 126}

MEANINGS: dict[int, str] = {
    OK: "done; for run, the program succeeded",
    ERROR: "failed for a stated reason; for doctor and try, something critical is wrong",
    USAGE: "the request is malformed: unknown verb, option, language, limit or path",
    BUG: "a defect of this program; the message names a log file",
    116: "a rule asks for a person's consent; nothing ran",
    117: "a rule sends this request to another tool; nothing ran",
    118: "stopped: scratch space is full",
    119: "stopped: process limit",
    120: "stopped: output limit",
    121: "stopped: processor time limit",
    122: "stopped: memory limit",
    124: "stopped: wall time limit",
    125: "no permitted sandbox is available, or it failed; nothing ran",
    126: "denied by a rule; nothing ran",
    INTERRUPTED: "interrupted",
}


def for_run(status: str, exit_code: int | None, signal: int | None) -> int:
    """Return the exit code that stands for a run: its own where it has one, 128 + N for signal
    N."""
    if status in BY_STATUS:
        return BY_STATUS[status]
    if signal is not None:
        return 128 + signal
    return exit_code if exit_code is not None else ERROR
