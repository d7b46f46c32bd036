"""Every way a run can end has the one status that tells its cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from executor.engine.box import Consumption, Exit
from executor.model import MIB, Limits, Status
from executor.run.progress import limits_met, status_of

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
    assert status_of(None, stopped, consumed) is status


FULL = replace(OK, scratch_full=True)
LIMITS = Limits(memory_bytes=64 * MIB, processes=9)
ENDED = "1 process of the run was ended at the memory limit (64 MiB)"
TURNED_AWAY = "3 starts of processes were refused at the limit of 9 processes"
NO_SPACE = "the scratch folder was full at the end of the run"


@pytest.mark.parametrize(
    ("status", "end", "consumed", "told"),
    [
        (Status.OK, OK, QUIET, ""),
        (Status.OK, OK, None, ""),
        (Status.OK, OK, OOM, ENDED),
        (Status.OK, OK, REFUSED, TURNED_AWAY),
        (Status.OK, FULL, None, NO_SPACE),
        (Status.OK, FULL, Consumption(1, 1, 3), f"{ENDED}; {TURNED_AWAY}; {NO_SPACE}"),
        (Status.TIMED_OUT, ASKED, OOM, ENDED),
        (Status.OUTPUT_LIMIT, None, OOM, ENDED),
        # The status says it itself.
        (Status.MEMORY_LIMIT, KILLED, OOM, ""),
        (Status.PROCESS_LIMIT, FAILED, REFUSED, ""),
        (Status.DISK_LIMIT, FULL, None, ""),
        (Status.MEMORY_LIMIT, KILLED, Consumption(1, 1, 3), TURNED_AWAY),
    ],
)
def test_a_limit_that_the_status_does_not_name_is_told(status, end, consumed, told):
    assert limits_met(status, end, consumed, LIMITS) == told


def test_a_limit_is_told_where_its_size_is_not_known():
    met = limits_met(Status.OK, OK, Consumption(1, 2, 1), None)
    assert met == (
        "2 processes of the run were ended at the memory limit; "
        "1 start of a process was refused at the limit of processes"
    )
