"""The exit codes of `context-mode`: one stable table, with the origin of each number.

`run` exits with the program's own code. The codes below are used if the program did not set one;
those from 116 to 126 avoid codes that programs and shells commonly return.
"""

from __future__ import annotations

OK = 0
ERROR = 1
USAGE = 2
BUG = 3
NO_SANDBOX = 125
INTERRUPTED = 130

# Statuses of runs without an exit code of the program. 124 is what timeout(1)
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
    "sandbox_unavailable": NO_SANDBOX,
    "sandbox_error": NO_SANDBOX,
    "denied": 126,
    "cancelled": INTERRUPTED,
}

# `policy check` and the decision.
BY_DECISION: dict[str, int] = {"allow": OK, "ask": 116, "redirect": 117, "deny": 126}

MEANINGS: dict[int, str] = {
    OK: "success; for run, the program succeeded",
    ERROR: "failure with a message; for doctor and try, a critical problem",
    USAGE: "invalid request, rule file or setting: unknown verb, option, language, …",
    BUG: "defect in this program; the message names a log file",
    116: "a rule needs your approval; nothing ran",
    117: "a rule requires another tool; nothing ran",
    118: "stopped: scratch space is full",
    119: "stopped: process limit",
    120: "stopped: output limit",
    121: "stopped: processor time limit",
    122: "stopped: memory limit",
    124: "stopped: wall time limit",
    NO_SANDBOX: "no sandbox is available, or it failed; nothing ran",
    126: "denied by a rule; nothing ran",
    INTERRUPTED: "interrupted",
}


def for_run(status: str, exit_code: int | None, signal: int | None) -> int:
    """Return the exit code of a run: the program's own if it has one, 128 + N for signal N."""
    if status in BY_STATUS:
        return BY_STATUS[status]
    if signal is not None:
        return 128 + signal
    return exit_code if exit_code is not None else ERROR
