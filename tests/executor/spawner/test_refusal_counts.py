"""Denied calls are answered by the supervisor as the filter would, and by the kernel without it."""

from __future__ import annotations

import errno
import json
import subprocess
import sys

import pytest

from executor import Limits, Status
from executor.spawner.kernel import SYS_INOTIFY, SYS_SOCKET, HeldCall
from executor.spawner.refusal_counts import (
    INSTANCES_MAX,
    LOOKED_UP,
    NOTICES_MAX,
    TARGETS_MAX,
    WATCHES_MAX,
    RefusedCounts,
)

CHILD = """
import ctypes, errno, json, os, select, socket, sys
from executor.engine import seccomp
from executor.spawner.confine import PR_SET_NO_NEW_PRIVS, _hand_over_listener, prctl
from executor.spawner.reported_calls import Notices
from executor.spawner.refusal_counts import RefusedCounts

FILTER = seccomp.notices(refused=True)
ERRORS = dict(seccomp.build_told()[1])
NAMES = seccomp.name_denied_calls()
PTRACE = next(number for number, name in NAMES.items() if name == "ptrace")
UNIX = socket.AF_UNIX

def child(then):
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        prctl("no_new_privs", PR_SET_NO_NEW_PRIVS, 1)
        _hand_over_listener(FILTER, theirs.fileno())
        os._exit(then())
    _, fds, _, _ = socket.recv_fds(ours, 64, 1)
    return pid, fds[0]

def trace():
    libc = ctypes.CDLL(None, use_errno=True)
    return 0 if libc.syscall(PTRACE, 0, 0, 0, 0) == 0 else ctypes.get_errno()

def serve(pid, notices):
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if select.select([notices.fd], [], [], 0.01)[0]:
            notices.serve()
"""


def in_a_process(code: str) -> object:
    done = subprocess.run(
        [sys.executable, "-c", CHILD + code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_a_denied_call_fails_as_the_filter_has_it_and_is_counted():
    code = """
pid, listener = child(trace)
notices = Notices(refused=RefusedCounts(ERRORS))
notices.listen(listener, None)
print(json.dumps([serve(pid, notices), notices.refused.counts == [(PTRACE, "", 1)]]))
"""
    assert in_a_process(code) == [errno.EPERM, True]


def test_without_a_supervisor_the_kernel_refuses():
    code = """
gate, opener = os.pipe()
pid, listener = child(lambda: (os.read(gate, 1), trace())[1])
os.close(listener)
os.write(opener, b"x")
print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
"""
    assert in_a_process(code) == errno.ENOSYS


def test_what_nobody_knows_is_refused_too():
    code = """
pid, listener = child(trace)
notices = Notices()
notices.listen(listener, None)
print(json.dumps(serve(pid, notices)))
"""
    assert in_a_process(code) == errno.EPERM


def test_a_connection_goes_on_and_where_it_leads_is_counted():
    code = """
import tempfile
path = tempfile.mkdtemp() + "/s"
def connect():
    got = []
    for family, kind, address in (
        (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 1)),
        (socket.AF_INET6, socket.SOCK_DGRAM, ("::1", 53)),
        (UNIX, socket.SOCK_STREAM, path),
        (UNIX, socket.SOCK_STREAM, "\\0nobody-listens-here"),
    ):
        with socket.socket(family, kind) as client:
            got.append(client.connect_ex(address))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.connect(0, 1, 16)
    got.append(ctypes.get_errno())
    expected = [errno.ECONNREFUSED, 0, errno.ENOENT, errno.ECONNREFUSED, errno.EFAULT]
    got[1] = 0  # a machine may have no such address
    return 0 if got[:4] == expected[:4] and got[4] in (errno.EFAULT, errno.ENOTSOCK) else 1
pid, listener = child(connect)
notices = Notices(refused=RefusedCounts(ERRORS))
notices.listen(listener, None)
code = serve(pid, notices)
print(json.dumps([code, [target.replace(path, "PATH") for _, target, _ in notices.refused.counts]]))
"""
    expected = ["tcp 127.0.0.1:1", "unix PATH", "unix @nobody-listens-here"]
    assert in_a_process(code) == [0, expected]


def test_a_connection_of_what_is_no_socket_leaves_nothing_open():
    code = """
import struct
def connect():
    libc = ctypes.CDLL(None, use_errno=True)
    file = os.open("/dev/null", os.O_RDONLY)
    address = struct.pack("=H", 2) + struct.pack("!H", 80) + bytes((192, 0, 2, 1)) + bytes(8)
    for descriptor in (file, 99, -1):
        assert libc.connect(descriptor, address, 16) < 0
    return 0
pid, listener = child(connect)
notices = Notices(refused=RefusedCounts(ERRORS))
notices.listen(listener, None)
before = len(os.listdir("/proc/self/fd"))
code = serve(pid, notices)
left = len(os.listdir("/proc/self/fd")) - before
print(json.dumps([code, left <= 0, [target for _, target, _ in notices.refused.counts]]))
"""
    assert in_a_process(code) == [0, True, ["tcp 192.0.2.1:80"]]


def ask(call: int, *arguments: int) -> HeldCall:
    return HeldCall(-1, 1, 1, call, (*arguments, 0, 0, 0, 0, 0, 0)[:6])


def test_a_familys_number_is_kept_and_no_other_argument():
    refused = RefusedCounts({SYS_SOCKET: errno.EAFNOSUPPORT, 101: errno.EPERM})
    assert refused.refuse(ask(SYS_SOCKET, 1 << 40 | 40)) == errno.EAFNOSUPPORT
    assert refused.refuse(ask(101, 7)) == errno.EPERM
    assert refused.counts == [(SYS_SOCKET, "40", 1), (101, "", 1)]


@pytest.mark.parametrize("thread", [0, -1, 1 << 22])
def test_a_thread_that_is_gone_connects_to_nowhere(thread):
    refused = RefusedCounts()
    refused.see_connect(HeldCall(-1, 1, thread, 42, (3, 1 << 63, 16, 0, 0, 0)))
    assert refused.counts == []


def test_so_many_are_kept_and_the_others_counted():
    refused = RefusedCounts()
    for number in range(NOTICES_MAX + 7):
        refused.count(LOOKED_UP, f"{number}.net")
    assert (len(refused.counts), refused.omitted) == (TARGETS_MAX, NOTICES_MAX + 7 - TARGETS_MAX)


@pytest.mark.tier_a
async def test_a_storm_of_denied_calls_keeps_nobody_from_ending_the_run(run):
    code = """
import ctypes, os
libc = ctypes.CDLL(None)
for _ in range(3):
    os.fork()
while True:
    libc.unshare(0x10000000)
"""
    result = await run("python", code, limits=Limits(wall_s=1))
    assert result.status is Status.TIMED_OUT
    (refused,) = [one for one in result.refusals if one.kind == "call"]
    assert (refused.target, refused.count) == ("unshare", NOTICES_MAX)
    assert result.refusals_omitted > NOTICES_MAX


@pytest.mark.tier_a
async def test_each_call_of_a_session_names_its_own(run):
    look_up = "import socket\ntry: socket.getaddrinfo('{}', 1)\nexcept OSError: pass"
    names = []
    for name in ("one.net", "two.net", ""):
        code = look_up.format(name) if name else "print(1)"
        result = await run("python", code, session="s")
        assert result.status is Status.OK, result.stderr.text
        names.append([one.target for one in result.refusals])
    assert names == [["one.net"], ["two.net"], []]


def test_a_box_has_so_many_of_what_is_counted_by_user_until_nothing_of_it_is_left():
    counts = RefusedCounts()
    _, begin, watch = SYS_INOTIFY

    def ask(call: int, times: int) -> list[int]:
        asked = HeldCall(-1, 1, 2, call, (0,) * 6)
        return [counts.refuse(asked) for _ in range(times)]

    for is_empty in (False, True):
        assert ask(begin, INSTANCES_MAX) == [0] * INSTANCES_MAX
        assert ask(watch, WATCHES_MAX) == [0] * WATCHES_MAX
        counts.begin()  # of the next call, while something of the last one is there
        assert ask(begin, 2) == [errno.EMFILE] * 2
        assert ask(watch, 2) == [errno.ENOSPC] * 2
        assert not counts.counts
        counts.begin(is_empty=not is_empty)
