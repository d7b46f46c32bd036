"""Every way a run can end has the one status that tells its cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from executor.cells import Exit
from executor.cgroup import Consumption
from executor.model import Status
from executor.outcome import status_of, status_of_lost

OK = Exit(
    phase="run",
    exit_code=0,
    signal=None,
    reason=None,
    cpu_s=0.1,
    peak_memory_bytes=1,
    peak_processes=1,
    scratch_full=False,
    changed=(),
    changed_omitted=0,
)
FAILED = replace(OK, exit_code=1)
KILLED = replace(OK, exit_code=None, signal=9)
ASKED = replace(KILLED, reason="asked")
QUIET = Consumption(1, oom_kills=0, fork_refusals=0)
OOM = Consumption(1, oom_kills=1, fork_refusals=0)
REFUSED = Consumption(1, oom_kills=0, fork_refusals=3)


@pytest.mark.parametrize(
    ("end", "stopped", "consumed", "status"),
    [
        (OK, None, None, Status.OK),
        (FAILED, None, QUIET, Status.NONZERO_EXIT),
        (replace(OK, exit_code=255), None, None, Status.NONZERO_EXIT),
        (KILLED, None, QUIET, Status.SIGNALLED),
        (replace(KILLED, signal=11), None, None, Status.SIGNALLED),
        # ended by the server, which knows why
        (ASKED, Status.TIMED_OUT, None, Status.TIMED_OUT),
        (ASKED, Status.OUTPUT_LIMIT, OOM, Status.OUTPUT_LIMIT),
        (replace(FAILED, reason="asked"), Status.TIMED_OUT, None, Status.TIMED_OUT),
        # the order crossed with the program's own end
        (OK, Status.TIMED_OUT, None, Status.OK),
        (FAILED, Status.OUTPUT_LIMIT, None, Status.NONZERO_EXIT),
        # ended by the supervisor
        (replace(KILLED, reason="cpu"), None, None, Status.CPU_LIMIT),
        (replace(KILLED, reason="memory"), None, None, Status.MEMORY_LIMIT),
        (replace(KILLED, reason="cpu"), Status.TIMED_OUT, None, Status.CPU_LIMIT),
        # ended by the kernel
        (KILLED, None, OOM, Status.MEMORY_LIMIT),
        (FAILED, None, OOM, Status.MEMORY_LIMIT),
        (replace(KILLED, signal=24), None, None, Status.SIGNALLED),
        (replace(KILLED, signal=25), None, None, Status.SIGNALLED),
        # failed because of a limit
        (replace(FAILED, scratch_full=True), None, QUIET, Status.DISK_LIMIT),
        (FAILED, None, REFUSED, Status.PROCESS_LIMIT),
        # met a limit and coped
        (OK, None, OOM, Status.OK),
        (OK, None, REFUSED, Status.OK),
        (replace(OK, scratch_full=True), None, None, Status.OK),
    ],
)
def test_the_status_names_the_cause(end, stopped, consumed, status):
    assert status_of(end, stopped, consumed) is status


@pytest.mark.parametrize(
    ("stopped", "consumed", "status"),
    [
        (Status.TIMED_OUT, None, Status.TIMED_OUT),
        (Status.TIMED_OUT, OOM, Status.TIMED_OUT),
        (None, OOM, Status.MEMORY_LIMIT),
        (None, QUIET, Status.SANDBOX_ERROR),
        (None, None, Status.SANDBOX_ERROR),
    ],
)
def test_a_lost_supervisor_is_explained_as_far_as_anything_is_known(stopped, consumed, status):
    assert status_of_lost(stopped, consumed) is status
