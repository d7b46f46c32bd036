"""The system call filter, judged as the kernel would: by running its instructions."""

from __future__ import annotations

import errno
import platform
import struct

import pyseccomp
import pytest

from executor.engine.seccomp import (
    ALLOWED,
    CLONE_NEW_FLAGS,
    CLONE_UNTRACED,
    DENIED,
    DENIED_FILE_COMMANDS,
    DENIED_IOCTLS,
    FILE_CALLS,
    KNOWN,
    NUMBERS,
    WITHOUT_NAMESPACES,
    build_guard,
    build_judged,
    build_told,
    name_denied_calls,
    notices,
    program,
)
from executor.spawner.file_calls import CALLS
from executor.spawner.process_calls import KINDS, REFUSED

ALLOW, KILL, NOTIFY = 0x7FFF0000, 0x80000000, 0x7FC00000
NATIVE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}.get(platform.machine(), 0)
I386 = 0x40000003
BOTH = ({}, {"namespaces": False})

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
    first = program(**spec)
    program.cache_clear()
    assert program(**spec) == first
    assert len(first) % 8 == 0


@pytest.mark.parametrize("spec", BOTH, ids=str)
@pytest.mark.parametrize("names", DENIED.values(), ids=DENIED.keys())
def test_denied_calls_are_refused_whatever_their_arguments(names, spec):
    calls = known(names)
    assert calls
    for name in calls:
        for arguments in ((), (1, 2, 3, 4, 5, 6)):
            assert verdict(program(**spec), number_of(name), *arguments) == refuse(errno.EPERM), (
                name
            )


def test_every_denied_name_is_one_that_some_kernel_knows():
    newer = NUMBERS.keys()  # some of them came after libseccomp 2.5
    unknown = {n for names in DENIED.values() for n in names.split() if number_of(n) == -1}
    assert unknown <= newer


def test_what_every_program_needs_passes():
    usual = "read write openat close mmap execve exit_group wait4 futex getrandom clone kill dup3"
    assert {verdict(program(), number_of(name)) for name in known(usual)} == {ALLOW}


@pytest.mark.parametrize("flag", [*CLONE_NEW_FLAGS, CLONE_UNTRACED], ids=hex)
def test_no_namespace_and_nothing_untraced_is_made_by_clone(flag):
    threads_and_forks = 0x3D0F00 & ~0x02000000
    refused = verdict(program(), number_of("clone"), flag | 17)
    assert refused == refuse(errno.EPERM)
    assert verdict(program(), number_of("clone"), threads_and_forks) == ALLOW


def test_clone3_is_absent_so_that_libraries_fall_back():
    assert verdict(program(), number_of("clone3")) == refuse(errno.ENOSYS)


@pytest.mark.parametrize("request_", DENIED_IOCTLS, ids=hex)
def test_no_keystroke_is_put_into_a_terminal(request_):
    for high in (0, 0xFFFFFFFF00000000):  # the kernel reads 32 bits of it, and so must the filter
        answer = verdict(program(), number_of("ioctl"), 0, high | request_)
        assert answer == refuse(errno.EPERM)
    assert verdict(program(), number_of("ioctl"), 0, 0x5401) == ALLOW  # TCGETS


@pytest.mark.parametrize("spec", BOTH, ids=str)
@pytest.mark.parametrize("command", DENIED_FILE_COMMANDS)
def test_nobody_is_made_to_wait_for_a_lease(command, spec):
    for high in (0, 0xFFFFFFFF00000000):
        answer = verdict(program(**spec), number_of("fcntl"), 0, high | command, 1)
        assert answer == refuse(errno.EPERM)
    for usual in (0, 1, 2, 3, 4, 6, 37, 1025, 1030, 1031, 1033):  # locks, flags, pipes, seals
        assert verdict(program(**spec), number_of("fcntl"), 0, usual, 1) == ALLOW


FAMILIES = {"unix": 1, "inet": 2, "inet6": 10, "netlink": 16, "packet": 17, "alg": 38, "vsock": 40}
STREAM, DATAGRAM, RAW, SEQUENCED, PACKET = 1, 2, 3, 5, 10
ROUTE, DIAGNOSTICS, EVENTS, GENERIC = 0, 4, 15, 16
ICMP, TCP, UDP, SCTP, UDP_LITE, MPTCP = 1, 6, 17, 132, 136, 262
KIND, PROTOCOL = refuse(errno.ESOCKTNOSUPPORT), refuse(errno.EPROTONOSUPPORT)
SOCKETS = [
    *(("unix", kind, 0, ALLOW) for kind in (STREAM, DATAGRAM, SEQUENCED)),
    *(
        (family, kind, protocol, answer)
        for family in ("inet", "inet6")
        for kind, protocol, answer in (
            (STREAM, 0, ALLOW),
            (STREAM, TCP, ALLOW),
            (DATAGRAM, 0, ALLOW),
            (DATAGRAM, UDP, ALLOW),
            (STREAM, SCTP, PROTOCOL),
            (STREAM, MPTCP, PROTOCOL),
            (DATAGRAM, UDP_LITE, PROTOCOL),
            (DATAGRAM, ICMP, PROTOCOL),
            (SEQUENCED, 0, KIND),
            (RAW, TCP, KIND),
            (PACKET, 0, KIND),
        )
    ),
    ("netlink", RAW, ROUTE, ALLOW),
    ("netlink", DATAGRAM, ROUTE, ALLOW),
    *(("netlink", RAW, protocol, PROTOCOL) for protocol in (DIAGNOSTICS, EVENTS, GENERIC)),
    *((family, RAW, 0, refuse(errno.EAFNOSUPPORT)) for family in ("packet", "alg", "vsock")),
]


@pytest.mark.parametrize(("family", "kind", "protocol", "answer"), SOCKETS)
def test_sockets_are_of_plain_kinds_or_without_a_network_of_none(family, kind, protocol, answer):
    call = number_of("socket")
    for flags in (0, 0o2000000 | 0o4000):  # SOCK_CLOEXEC, SOCK_NONBLOCK
        for high in (0, 1 << 32, 0xFFFFFFFF00000000):  # the kernel reads 32 bits of each
            asked = [high | FAMILIES[family], high | kind | flags, high | protocol]
            assert verdict(program(), call, *asked) == answer
            assert verdict(program(namespaces=False), call, *asked) == refuse(errno.EACCES)


def test_personality_is_left_as_it_is():
    assert verdict(program(), number_of("personality"), 0) == ALLOW
    assert verdict(program(), number_of("personality"), 0x40000) == refuse(errno.EPERM)


@pytest.mark.parametrize("spec", BOTH, ids=str)
def test_calls_of_a_foreign_architecture_kill(spec):
    assert verdict(program(**spec), 1, arch=I386) == KILL


ASKING = (notices(refused=True), build_judged(7)[0])


@pytest.mark.parametrize("spec", BOTH, ids=str)
def test_calls_that_nobody_has_named_do_not_exist(spec):
    """Of every number up to 1,024, above it, and of the x32 interface, in both filters together."""
    known = {number_of(name) for name in KNOWN} | set(NUMBERS.values())
    x32 = {0x40000000 | number for number in (0, 1, 39, 59, 520, 543)}
    for number in {*range(1024), *x32, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF}:
        is_absent = verdict(program(**spec), number) == refuse(errno.ENOSYS)
        assert is_absent == (number not in known), number
        assert is_absent <= (verdict(ASKING["namespaces" in spec], number) in (ALLOW, NOTIFY))


@pytest.mark.parametrize("architecture", [pyseccomp.Arch.X86_64, pyseccomp.Arch.AARCH64])
def test_the_guard_names_the_calls_of_each_architecture(architecture):
    names = {name: pyseccomp.resolve_syscall(architecture, name) for name in KNOWN} | NUMBERS
    numbers = {number for number in names.values() if number >= 0}
    passes = struct.pack("=HBBI", 0x06, 0, 0, ALLOW)
    guard = build_guard(architecture, numbers, names["socket"]) + passes
    native = int(architecture) & 0xFFFFFFFF
    answers = {n: verdict(guard, n, 1, arch=native) for n in range(600)}
    assert {n for n, answer in answers.items() if answer == ALLOW} == numbers
    assert verdict(guard, names["socket"], 2, 2, UDP_LITE, arch=native) == PROTOCOL
    assert verdict(guard, 400, arch=I386) == ALLOW  # what stands behind it kills


@pytest.mark.parametrize("architecture", [pyseccomp.Arch.X86_64, pyseccomp.Arch.AARCH64])
def test_numbers_in_the_table_are_those_of_the_library_where_it_knows_the_call(architecture):
    told = {name: pyseccomp.resolve_syscall(architecture, name) for name in NUMBERS}
    assert {name: NUMBERS[name] for name, number in told.items() if number != -1} == {
        name: number for name, number in told.items() if number != -1
    }


def test_no_call_is_named_twice():
    names = [*ALLOWED.split(), *" ".join(DENIED.values()).split()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("spec", BOTH, ids=str)
def test_what_the_whole_machine_counts_is_not_there_to_be_taken(spec):
    for name in known("io_setup io_submit io_getevents io_pgetevents io_cancel io_destroy mq_open"):
        assert verdict(program(**spec), number_of(name), 1024) == refuse(errno.ENOSYS), name


def test_without_a_user_namespace_the_supervisor_is_asked_for_what_is_counted_by_user(monkeypatch):
    calls = [number_of(name) for name in known("inotify_init inotify_init1 inotify_add_watch")]
    asking = notices(counted=True), build_judged(7)[0]
    assert {verdict(filter_, call) for filter_ in asking for call in calls} == {NOTIFY}
    assert {verdict(program(counted=True), call) for call in calls} == {ALLOW}
    assert {verdict(notices(refused=True), call) for call in calls} == {ALLOW}  # in tier A
    monkeypatch.setattr(pyseccomp, "get_api", lambda: 4)  # where nobody can be asked
    alone = program.__wrapped__(counted=True), build_judged.__wrapped__(7)[0]
    absent = refuse(errno.ENOSYS)
    assert {verdict(filter_, call) for filter_ in alone for call in calls} == {absent}


@pytest.mark.parametrize("exits", [True, False])
@pytest.mark.parametrize("renames", [True, False])
def test_just_those_calls_are_told_that_are_asked_for(exits, renames):
    filter_ = notices(exits=exits, renames=renames)
    calls = known("exit_group exit execve write kill rename renameat renameat2 link mkdir")
    told = [name for name in calls if filter_ and verdict(filter_, number_of(name)) == NOTIFY]
    wanted = known("exit_group") * exits + known("rename renameat renameat2") * renames
    assert told == wanted
    assert bool(filter_) == bool(wanted)


def test_a_kernel_that_can_tell_nobody_is_not_asked_to(monkeypatch):
    monkeypatch.setattr(pyseccomp, "get_api", lambda: 4)
    assert notices.__wrapped__(exits=True) == b""


ARGUMENTS = (
    *((), (1, 2, 3, 4, 5, 6), (0x4000, 1), (0, 1024), (0, 0x5412), (0, 0x541C)),
    *((flag | 17,) for flag in (*CLONE_NEW_FLAGS, CLONE_UNTRACED)),
    *((high | family,) for family in range(64) for high in (0, 1 << 32)),
)


@pytest.mark.parametrize("namespaces", [True, False])
def test_what_is_told_in_place_of_refused_is_refused_by_who_is_told_or_by_the_kernel(namespaces):
    """What the whole filter refuses is refused or asked about by the two in its place."""
    told, whole = build_told(namespaces=namespaces), program(namespaces=namespaces)
    asks = notices(refused=True) if namespaces else build_judged(7)[0]
    errors = dict(told[1])
    for number in range(500):
        for arguments in ARGUMENTS:
            alone = verdict(whole, number, *arguments)
            if (rest := verdict(told[0], number, *arguments)) == alone:
                continue
            assert (rest, verdict(asks, number, *arguments)) == (ALLOW, NOTIFY), number
            assert alone == refuse(errors[number]), number
    assert verdict(told[0], number_of("socket"), 1 << 20) == verdict(
        whole, number_of("socket"), 1 << 20
    )


def test_nothing_but_what_is_refused_and_connections_is_asked_about():
    whole, asks = program(), notices(refused=True)
    for number in range(500):
        for arguments in ARGUMENTS:
            if verdict(asks, number, *arguments) == NOTIFY and number != number_of("connect"):
                assert verdict(whole, number, *arguments) != ALLOW, number


def test_every_call_that_is_told_has_a_name():
    assert dict(build_told()[1]).keys() == name_denied_calls().keys()
    assert set(known(" ".join(DENIED.values()))) <= set(name_denied_calls().values())


def test_where_the_kernel_tells_nobody_the_whole_filter_stays(monkeypatch):
    monkeypatch.setattr(pyseccomp, "get_api", lambda: 4)
    assert build_told.__wrapped__() is None
    assert notices.__wrapped__(refused=True) == b""


# Arguments that name the caller itself, and others: by whole registers.
HIGH = 1 << 32
PASSES = {
    "prlimit64": (0, 7),
    "sched_setaffinity": (0, 8),
    "setpriority": (0, 0, 5),
    "ioprio_set": (1, 0, 0),
    "kill": (0, 9),
}
ASKED = {
    "prlimit64": ((7,), (HIGH,), (HIGH | 7,)),
    "sched_setaffinity": ((7,), (HIGH,)),
    "sched_setscheduler": ((7,),),
    "sched_setparam": ((7,),),
    "sched_setattr": ((7,),),
    "setpriority": ((0, 7), (1, 0), (2, 0), (2 | HIGH, 0), (HIGH, 0), (0, HIGH)),
    "ioprio_set": ((1, 7), (2, 0), (3, 0), (0, 0), (1 | HIGH, 0)),
}
SIGNALS = {
    "kill": ((7, 9), (-1 & 2**64 - 1, 9), (HIGH, 9)),
    "tkill": ((7, 9),),
    "tgkill": ((7, 7, 9),),
    "rt_sigqueueinfo": ((7, 9),),
    "rt_tgsigqueueinfo": ((7, 7, 9),),
}


@pytest.mark.parametrize("abi", [1, 5, 6, 7])
def test_a_call_that_names_another_process_is_asked_about(abi):
    filter_, kinds = build_judged(abi)
    for name, arguments in PASSES.items():
        assert verdict(filter_, number_of(name), *arguments) == ALLOW, name
    for name, several in {**ASKED, **SIGNALS}.items():
        expected = NOTIFY if abi < 6 or name in ASKED else ALLOW
        assert number_of(name) in dict(kinds) or expected == ALLOW
        for arguments in several:
            answer = verdict(filter_, number_of(name), *arguments)
            assert answer == expected, (name, arguments)


def test_every_kind_of_call_is_one_that_the_supervisor_can_judge():
    assert {kind for _, kind in build_judged(5)[1]} <= KINDS.keys() | CALLS.keys() | {REFUSED}


def test_without_landlocks_scope_no_owner_is_chosen_and_no_descriptor_signals():
    filter_ = build_judged(5)[0]
    assert verdict(filter_, number_of("pidfd_send_signal"), 3, 9) == refuse(errno.ENOSYS)
    for name, command in (("fcntl", 8), ("fcntl", 15), ("ioctl", 0x8901), ("ioctl", 0x8902)):
        for high in (0, HIGH):
            assert verdict(filter_, number_of(name), 3, high | command) == refuse(errno.EPERM)
    assert verdict(filter_, number_of("fcntl"), 3, 1) == ALLOW


def test_where_nobody_can_be_asked_all_of_it_is_refused(monkeypatch):
    monkeypatch.setattr(pyseccomp, "get_api", lambda: 4)
    program_ = build_judged.__wrapped__(5)[0]
    for name, several in {**ASKED, **SIGNALS}.items():
        for arguments in several:
            assert verdict(program_, number_of(name), *arguments) == refuse(errno.EPERM), name


def test_without_namespaces_nothing_is_reached_by_number_or_name():
    filter_ = program(namespaces=False)
    for name in known(WITHOUT_NAMESPACES):
        assert verdict(filter_, number_of(name), 1, 2, 3) == refuse(errno.EACCES), name
    for high in (0, HIGH):
        assert verdict(filter_, number_of("prctl"), high | 62) == refuse(errno.EPERM)
    assert verdict(filter_, number_of("prctl"), 15) == ALLOW


@pytest.mark.parametrize("flags", [0, 0o4000 | 0o2000000, 1 << 32], ids=oct)
def test_without_namespaces_a_pair_of_sockets_is_of_streams(flags):
    filter_, call = program(namespaces=False), number_of("socketpair")
    answers = {kind: verdict(filter_, call, 1, kind | flags) for kind in range(16)}
    assert [kind for kind, answer in answers.items() if answer == ALLOW] == [1, 5]
    assert verdict(filter_, call, 30, 1) == refuse(errno.EACCES)


@pytest.mark.parametrize("abi", [2, 7])
def test_the_supervisor_changes_what_a_file_is_called_to_be(abi):
    filter_, kinds = build_judged(abi)
    assert set(FILE_CALLS.split()) == CALLS.keys()
    for name in known(FILE_CALLS):
        assert verdict(filter_, number_of(name), 0, 0) == NOTIFY, name
        assert dict(kinds)[number_of(name)] == name
    for request_ in (0x40086602, 0x80086601, 0x401C5820, HIGH | 0x401C5820, 0x40806685):
        answer = verdict(filter_, number_of("ioctl"), 3, request_)
        assert answer == refuse(errno.ENOTTY), hex(request_)
    for request_ in (0x5401, 0x40049409, 0x5421):  # TCGETS, FICLONE, FIONBIO
        assert verdict(filter_, number_of("ioctl"), 3, request_) == ALLOW


@pytest.mark.parametrize(("abi", "answer"), [(2, refuse(errno.EACCES)), (3, ALLOW)])
def test_nothing_is_emptied_that_is_not_written_to(abi, answer):
    filter_ = build_judged(abi)[0]
    assert verdict(filter_, number_of("truncate"), 1, 0) == answer
    for mode in (0, 3):
        assert verdict(filter_, number_of("openat"), 3, 1, 0o1000 | mode) == answer
    for flags in (0o1001, 0o1002, 0, 0o100):
        assert verdict(filter_, number_of("openat"), 3, 1, flags) == ALLOW


def test_a_container_is_told_of_no_interfaces():
    """Its loopback has no address by which glibc would take a family for usable."""
    call = number_of("socket")
    for spec in ({"counted": True}, {"own_kernel": True}):
        assert verdict(program(**spec), call, 16, RAW, ROUTE) == refuse(errno.EAFNOSUPPORT)
        assert verdict(program(**spec), call, 16, RAW, GENERIC) == PROTOCOL
        assert verdict(program(**spec), call, 2, STREAM, 0) == ALLOW
