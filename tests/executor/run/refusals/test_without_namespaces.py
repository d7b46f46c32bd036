"""In tier B the kernel tells of denied calls as well, sockets among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor import LocalEngine, Status

CALL = "import ctypes; libc = ctypes.CDLL(None); libc.{}(0, 0, 0, 0, 0)"
SOCKET = "import socket\ntry: socket.socket(socket.{})\nexcept OSError: pass"
# A program that ends well, and what it is told that it was refused.
ACTS = {
    "a mount": (CALL.format("mount"), [("call", "mount", "exact")]),
    "tracing": (CALL.format("ptrace"), [("call", "ptrace", "exact")]),
    "a namespace": ("import os; os.system('unshare --user true')", [("call", "unshare", "exact")]),
    "the network": (SOCKET.format("AF_INET"), [("network", "socket(AF_INET)", "exact")]),
    "raw packets": (SOCKET.format("AF_PACKET"), [("call", "socket(AF_PACKET)", "exact")]),
    "names of users": ("import pwd, syslog; pwd.getpwall(); syslog.syslog('x')", []),
    "its own processes": (
        "import os; os.nice(1); os.sched_setaffinity(0, os.sched_getaffinity(0))",
        [],
    ),
    "nothing": ("print(1)", []),
}


@pytest.mark.parametrize(("code", "expected"), ACTS.values(), ids=ACTS)
async def test_acts_are_named(code, expected, executor: LocalEngine, run):
    if executor.isolation.tier != "B":
        pytest.skip("not applicable: this machine has namespaces")
    result = await run("python", code)
    assert result.status is Status.OK, result.stderr.text
    assert [(one.kind, one.target, one.certainty) for one in result.refusals] == expected


async def test_what_errors_speak_of_is_named(executor: LocalEngine, run, project: Path):
    if executor.isolation.tier != "B":
        pytest.skip("not applicable: this machine has namespaces")
    (project / ".env").write_text("KEY=1\n")
    result = await run("shell", "cat .env; echo x > out.txt; exit 1")
    told = {(one.kind, one.target.rpartition("/")[2], one.certainty) for one in result.refusals}
    assert told == {("read", ".env", "told"), ("write", "out.txt", "inferred")}
