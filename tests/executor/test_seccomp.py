"""The system call filter, judged as the kernel would: by running its instructions."""

from __future__ import annotations

import errno
import platform
import struct

import pyseccomp
import pytest

from executor.seccomp import (
    CLONE_NEW_FLAGS,
    CLONE_UNTRACED,
    DENIED,
    DENIED_FILE_COMMANDS,
    DENIED_IOCTLS,
    Filter,
    exit_notice,
    program,
)

ALLOW, KILL, NOTIFY = 0x7FFF0000, 0x80000000, 0x7FC00000
NATIVE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}.get(platform.machine(), 0)
I386 = 0x40000003
BOTH = (Filter(), Filter(sockets=False))

pytestmark = pytest.mark.skipif(
    not NATIVE, reason="not applicable: the audit number of this architecture is not listed here"
)


def refuse(error: int) -> int:
    return 0x00050000 | error


def verdict(filter_: bytes, number: int, *arguments: int, arch: int = NATIVE) -> int:
    """What the filter returns for a call: a classic BPF machine, as far as libseccomp uses it."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, arch, 0, *padded)
    code = [struct.unpack_from("=HBBI", filter_, at) for at in range(0, len(filter_), 8)]
    accumulator = at = 0
    while True:
        operation, if_true, if_false, k = code[at]
        at += 1
        match operation:
            case 0x20:  # load a word
                (accumulator,) = struct.unpack_from("=I", data, k)
            case 0x54:
                accumulator &= k
            case 0x05:
                at += k
            case 0x15:
                at += if_true if accumulator == k else if_false
            case 0x25:
                at += if_true if accumulator > k else if_false
            case 0x35:
                at += if_true if accumulator >= k else if_false
            case 0x45:
                at += if_true if accumulator & k else if_false
            case 0x06:
                return k
            case _:
                raise AssertionError(f"unknown instruction {operation:#x}")


def number_of(name: str) -> int:
    return int(pyseccomp.resolve_syscall(pyseccomp.system_arch(), name))


def known(names: str) -> list[str]:
    """The calls that this machine's architecture has and its libseccomp knows."""
    return [name for name in names.split() if number_of(name) >= 0]


@pytest.mark.parametrize("spec", BOTH, ids=str)
def test_the_filter_is_the_same_however_often_it_is_built(spec):
    first = program(spec)
    program.cache_clear()
    assert program(spec) == first
    assert len(first) % 8 == 0


@pytest.mark.parametrize("spec", BOTH, ids=str)
@pytest.mark.parametrize("names", DENIED.values(), ids=DENIED.keys())
def test_denied_calls_are_refused_whatever_their_arguments(names, spec):
    calls = known(names)
    assert calls
    for name in calls:
        for arguments in ((), (1, 2, 3, 4, 5, 6)):
            assert verdict(program(spec), number_of(name), *arguments) == refuse(errno.EPERM), name


def test_every_denied_name_is_one_that_some_kernel_knows():
    newer = {"open_tree_attr", "listmount", "statmount"}  # after libseccomp 2.5
    unknown = {n for names in DENIED.values() for n in names.split() if number_of(n) == -1}
    assert unknown <= newer


def test_what_every_program_needs_passes():
    usual = "read write openat close mmap execve exit_group wait4 futex getrandom clone kill dup3"
    assert {verdict(program(Filter()), number_of(name)) for name in known(usual)} == {ALLOW}


@pytest.mark.parametrize("flag", [*CLONE_NEW_FLAGS, CLONE_UNTRACED], ids=hex)
def test_no_namespace_and_nothing_untraced_is_made_by_clone(flag):
    threads_and_forks = 0x3D0F00 & ~0x02000000
    refused = verdict(program(Filter()), number_of("clone"), flag | 17)
    assert refused == refuse(errno.EPERM)
    assert verdict(program(Filter()), number_of("clone"), threads_and_forks) == ALLOW


def test_clone3_is_absent_so_that_libraries_fall_back():
    assert verdict(program(Filter()), number_of("clone3")) == refuse(errno.ENOSYS)


@pytest.mark.parametrize("request_", DENIED_IOCTLS, ids=hex)
def test_no_keystroke_is_put_into_a_terminal(request_):
    for high in (0, 0xFFFFFFFF00000000):  # the kernel reads 32 bits of it, and so must the filter
        answer = verdict(program(Filter()), number_of("ioctl"), 0, high | request_)
        assert answer == refuse(errno.EPERM)
    assert verdict(program(Filter()), number_of("ioctl"), 0, 0x5401) == ALLOW  # TCGETS


@pytest.mark.parametrize("spec", BOTH, ids=str)
@pytest.mark.parametrize("command", DENIED_FILE_COMMANDS)
def test_nobody_is_made_to_wait_for_a_lease(command, spec):
    for high in (0, 0xFFFFFFFF00000000):
        answer = verdict(program(spec), number_of("fcntl"), 0, high | command, 1)
        assert answer == refuse(errno.EPERM)
    for usual in (0, 1, 2, 3, 4, 6, 37, 1025, 1030, 1031, 1033):  # locks, flags, pipes, seals
        assert verdict(program(spec), number_of("fcntl"), 0, usual, 1) == ALLOW


FAMILIES = {"unix": 1, "inet": 2, "inet6": 10, "netlink": 16, "packet": 17, "alg": 38, "vsock": 40}


@pytest.mark.parametrize(("name", "family"), FAMILIES.items(), ids=FAMILIES.keys())
def test_sockets_are_of_plain_families_or_without_a_network_of_none(name, family):
    call = number_of("socket")
    plain = name in ("unix", "inet", "inet6")
    expected = ALLOW if plain else refuse(errno.EAFNOSUPPORT)
    assert verdict(program(Filter()), call, family) == expected
    assert verdict(program(Filter(sockets=False)), call, family) == refuse(errno.EACCES)


def test_personality_is_left_as_it_is():
    assert verdict(program(Filter()), number_of("personality"), 0) == ALLOW
    assert verdict(program(Filter()), number_of("personality"), 0x40000) == refuse(errno.EPERM)


@pytest.mark.parametrize("spec", BOTH, ids=str)
def test_calls_of_a_foreign_architecture_kill(spec):
    assert verdict(program(spec), 1, arch=I386) == KILL
    if platform.machine() == "x86_64":
        assert verdict(program(spec), 0x40000000 | 1) == KILL  # the x32 interface


def test_the_exit_notice_tells_of_exits_alone():
    told = [name for name in ("exit_group", "exit", "execve", "write", "kill")
            if verdict(exit_notice(), number_of(name)) == NOTIFY]  # fmt: skip
    assert told == ["exit_group"]
    assert verdict(exit_notice(), number_of("write")) == ALLOW


def test_a_kernel_that_can_tell_nobody_is_not_asked_to(monkeypatch):
    monkeypatch.setattr(pyseccomp, "get_api", lambda: 4)
    assert exit_notice.__wrapped__() == b""
