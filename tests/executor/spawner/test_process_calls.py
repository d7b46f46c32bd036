"""Calls that name a process: the run's own are the run's, any other is refused, in every tier."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from executor import Limits, LocalEngine, Request, Status

OWN = (
    "python3 -c 'import os; os.sched_setaffinity(os.getppid(), os.sched_getaffinity(0)); print(6)'"
)
FOREIGN = "python3 -c 'import os; os.sched_setaffinity({}, {{0}})' 2>&1 | grep -c Error"


async def _said(executor: LocalEngine, code: str, session: str) -> str:
    completed = await executor.run(Request("shell", code, session=session))
    return completed.result.stdout.text


async def test_a_session_judges_them_too_from_call_to_call(executor):
    foreign = FOREIGN.format(os.getpid())
    for _ in range(2):
        assert await _said(executor, OWN, "s") == "6\n"
        assert await _said(executor, foreign, "s") == "1\n"


async def test_one_sessions_processes_are_no_business_of_another(executor):
    if executor.isolation.tier == "A":
        pytest.skip("not applicable: the same number is another process in each namespace")
    sleeper = (await _said(executor, "sleep 600 & echo $!", "one")).strip()
    assert await _said(executor, FOREIGN.format(sleeper), "two") == "1\n"
    own = FOREIGN.replace("{{0}}", "os.sched_getaffinity(0)").format(sleeper)
    assert await _said(executor, own, "one") == "0\n"  # the control


async def test_a_storm_of_such_calls_keeps_nobody_from_ending_the_run(run):
    code = """
import os
for _ in range(8):
    if os.fork() == 0:
        break
while True:
    os.sched_setaffinity(os.getpid(), os.sched_getaffinity(0))
"""
    result = await run("python", code, limits=Limits(wall_s=2))
    assert result.status is Status.TIMED_OUT


def test_below_a_listener_of_somebody_elses_every_such_call_is_refused():
    code = """
import errno, json, os, socket
from executor.engine import seccomp
from executor.spawner.confine import PR_SET_NO_NEW_PRIVS, _hand_over_listener, prctl

def answer(pid):
    try:
        os.sched_setaffinity(pid, os.sched_getaffinity(0))
    except OSError as error:
        return errno.errorcode[error.errno]

ours, theirs = socket.socketpair()
prctl("no_new_privs", PR_SET_NO_NEW_PRIVS, 1)
before = answer(os.getpid())
_hand_over_listener(seccomp.notices(exits=True), theirs.fileno())
_, outer, _, _ = socket.recv_fds(ours, 64, 1)
_hand_over_listener(seccomp.build_judged(5)[0], theirs.fileno(), is_required=True)
_, inner, _, _ = socket.recv_fds(ours, 64, 1)
print(json.dumps([len(outer), len(inner), before, answer(os.getpid()), answer(0)]), flush=True)
os.kill(0, 9)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,
    )
    assert done.stdout, done.stderr
    assert json.loads(done.stdout) == [1, 0, None, "ENOSYS", None]
