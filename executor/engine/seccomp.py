"""The system call filter, built once and kept as bytes: which calls exist, and what each may do.

Calls that `system_calls.toml` does not name do not exist for programs (ENOSYS). Of the others it
refuses what a program that only computes never needs, and what has a record of reaching around
namespaces and Landlock.
"""

from __future__ import annotations

import errno
import functools
import os
import socket
import stat
import struct
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pyseccomp

from executor.spawner.process_calls import REFUSED

_TABLE = tomllib.loads(Path(__file__).with_name("system_calls.toml").read_text("utf-8"))
ALLOWED: str = _TABLE["allowed"]
DENIED: dict[str, str] = _TABLE["denied"]
WITHOUT_NAMESPACES: str = _TABLE["without_namespaces"]
FILE_CALLS: str = _TABLE["file_calls"]
ON_PROCESSES: dict[str, str] = _TABLE["on_processes"]
SIGNALS: dict[str, str] = _TABLE["signals"]
CLONE_NEW_FLAGS: tuple[int, ...] = tuple(_TABLE["clone_flags"].values())
NUMBERS: dict[str, int] = _TABLE["numbers"]
KNOWN = frozenset(" ".join((ALLOWED, _TABLE["judged"], *DENIED.values())).split())
# By family the types and protocols: no UDP-Lite, MPTCP, SCTP, ICMP. Of netlink NETLINK_ROUTE, which
# tells of interfaces: those of the box's own network.
INTERNET = (socket.SOCK_STREAM, socket.SOCK_DGRAM), (0, socket.IPPROTO_TCP, socket.IPPROTO_UDP)
SOCKETS: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {
    socket.AF_INET: INTERNET,
    socket.AF_INET6: INTERNET,
    socket.AF_NETLINK: ((socket.SOCK_RAW, socket.SOCK_DGRAM), (0,)),
}
SOCK_TYPE_MASK = 0xF
# Classic BPF (linux/filter.h), and where struct seccomp_data has what (linux/seccomp.h). The kernel
# reads the lower half of such arguments, which every architecture that is known here has first.
LOAD, AND, EQUAL, GREATER, AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x25, 0x35, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
ERROR = 0x00050000
Step = tuple[int, int, str, str] | str
"""An instruction, its value and where it leads if true or false; or the name of a place."""


def build_guard(architecture: int, numbers: Iterable[int], socket_call: int) -> bytes:
    """Return instructions that refuse calls of other numbers, and sockets other than `SOCKETS`.

    Refused calls appear not to exist (ENOSYS): younger ones, those of x32, gaps in the table. All
    others, and calls of another architecture, pass to the next filter.
    """
    # They stand before the instructions of libseccomp, whose filters have one default only. runc
    # puts its own in the same place (`libcontainer/seccomp/patchbpf`). Without them the default
    # would be "allow", and a call that a later kernel adds would be allowed unseen.
    begin: list[Step] = [(LOAD, ARCHITECTURE, "", ""), (EQUAL, architecture, "", "end")]
    steps = [*begin, (LOAD, NUMBER, "", "")]
    ranges: list[tuple[int, int]] = []  # of consecutive numbers, ascending
    for number in sorted(numbers):
        start = ranges.pop()[0] if ranges and ranges[-1][1] == number - 1 else number
        ranges.append((start, number))
    for first, last in ranges:
        above = f"above {last}"
        steps += [(GREATER, last, above, ""), (AT_LEAST, first, "known", "absent"), above]
    steps += ["absent", (RETURN, ERROR | errno.ENOSYS, "", "")]
    steps += ["known", (EQUAL, socket_call, "", "end")]
    for family, (kinds, protocols) in SOCKETS.items():
        other, of_kind = f"other than {family}", f"kind of {family}"
        steps += [(LOAD, ARGUMENTS, "", ""), (EQUAL, family, "", other)]
        steps += [(LOAD, ARGUMENTS + 8, "", ""), (AND, SOCK_TYPE_MASK, "", "")]
        steps += [(EQUAL, kind, of_kind, "") for kind in kinds]
        steps += [(RETURN, ERROR | errno.ESOCKTNOSUPPORT, "", ""), of_kind]
        steps += [(LOAD, ARGUMENTS + 16, "", "")]
        steps += [(EQUAL, protocol, "end", "") for protocol in protocols]
        steps += [(RETURN, ERROR | errno.EPROTONOSUPPORT, "", ""), other]
    places: dict[str, int] = {}
    lines: list[tuple[int, int, str, str]] = []
    for step in [*steps, "end"]:
        if isinstance(step, str):
            places[step] = len(lines)
        else:
            lines.append(step)
    program = b""
    for at, (code, value, *ways) in enumerate(lines, 1):
        if_true, if_false = [places[to] - at if to else 0 for to in ways]
        program += struct.pack("=HBBI", code, if_true, if_false, value & 0xFFFFFFFF)
    return program


CLONE_UNTRACED = 0x00800000  # born beside what stops a session's processes between calls
# F_SETLEASE, F_NOTIFY, F_SETDELEG: whoever opens the file waits for a holder that may be stopped.
DENIED_FILE_COMMANDS = (1024, 1026, 1040)
UNKNOWN = -1  # __NR_SCMP_ERROR
# The calls of which the supervisor asks for reports: `executor.spawner.reported_calls`.
EXITS, RENAMES = ("exit_group",), ("rename", "renameat", "renameat2")
# Those of which a box without a user namespace has only so many: `executor.spawner.refusal_counts`.
COUNTED_CALLS = ("inotify_init", "inotify_init1", "inotify_add_watch")
# And those of which it is told what programs try, in the same module.
CONNECTS = ("connect",)
NOTIFY_API = 5  # seccomp_api_get(3): the kernel and the library know of notifications
# What a socketpair may be in tier B. One of datagrams could still send to any socket of the host.
PAIR_KINDS = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)
PR_SCHED_CORE = 62  # prctl(2): the one option that names another process

INODE_IOCTLS = {0xFF00: 0x6600, 0xFFFFFFFF: 0x401C5820}  # all of type 'f'; FS_IOC_FSSETXATTR
# What passes unasked: the caller itself, or its group by kill(0). Whole registers are compared.
OWN = {"process": {0: 0}, "priority": {0: 0, 1: 0}, "io priority": {0: 1, 1: 0}, "target": {0: 0}}
# From which ABI on Landlock keeps signals within a run, and files from being truncated.
SIGNALS_ABI, TRUNCATION_ABI = 6, 3
# fcntl(2) and ioctl(2) by which a process is chosen that the kernel will signal: F_SETOWN,
# F_SETOWN_EX; FIOSETOWN, SIOCSPGRP.
OWNER_CHOICES = {"fcntl": (8, 15), "ioctl": (0x8901, 0x8902)}
# Terminal ioctls that put keystrokes into someone's terminal (TIOCSTI, TIOCLINUX, TIOCSETD).
DENIED_IOCTLS = (0x5412, 0x541C, 0x5423)
DEVICE_KINDS = 0o170000  # S_IFMT
# Others reach past an empty network namespace, or their code is rarely exercised.
ALLOWED_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
FAMILIES = 64  # more than any kernel has
ALL_FAMILIES = frozenset(range(FAMILIES)) - frozenset(ALLOWED_FAMILIES)
# Libraries ask for the machine's interfaces on the way to anything else, and do without.
UNTOLD_FAMILIES = frozenset((int(socket.AF_NETLINK),))
# And in tier B for name services, at sockets of Unix.
UNTOLD_SHARED_FAMILIES = UNTOLD_FAMILIES | {int(socket.AF_UNIX)}
TOLD_SHARED_FAMILIES = frozenset(range(FAMILIES)) - UNTOLD_SHARED_FAMILIES


@functools.cache
def program(
    *,
    namespaces: bool = True,
    own_kernel: bool = False,
    counted: bool = False,
    without_told: bool = False,
) -> bytes:
    """Return the filter of a tier as the kernel's instructions.

    Without `namespaces`, in tier B, it refuses what they would keep apart. A container's
    `own_kernel`, like gVisor's, asks for fewer capabilities. `counted`: `COUNTED_CALLS` are left to
    `notices`, if the kernel can report them. `without_told`: what `build_told` refuses is left to
    it.

    Raises:
        OSError: libseccomp refused a rule or is missing.
    """
    kill = pyseccomp.KILL_PROCESS
    rules = pyseccomp.SyscallFilter(defaction=pyseccomp.ALLOW)
    # Numbers mean other calls on another architecture (int 0x80 on x86-64): rules by number would
    # refuse the wrong ones.
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, kill)
    refuse = pyseccomp.ERRNO(errno.EPERM)
    if not without_told:
        _deny_calls(rules, refuse)
    _add(rules, refuse, "personality", pyseccomp.Arg(0, pyseccomp.NE, 0))
    if counted and pyseccomp.get_api() < NOTIFY_API:
        for name in COUNTED_CALLS:
            _add(rules, pyseccomp.ERRNO(errno.ENOSYS), name)
    for request in DENIED_IOCTLS:
        _add(rules, refuse, "ioctl", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xFFFFFFFF, request))
    for command in DENIED_FILE_COMMANDS:
        for name in ("fcntl", "fcntl64"):
            _add(rules, refuse, name, pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xFFFFFFFF, command))
    if not namespaces:
        _deny_shared(rules, without_told=without_told)
    elif not without_told:
        unsupported = pyseccomp.ERRNO(errno.EAFNOSUPPORT)
        # A container's only addresses are those of the loopback: `executor.spawner.cell`.
        is_cell = not (counted or own_kernel)
        _deny_families(rules, unsupported, ALL_FAMILIES - (UNTOLD_FAMILIES if is_cell else set()))
    if own_kernel:
        _deny_device_nodes(rules)
    # Calls of other architectures have names, and numbers below 0.
    numbers = {number for name in KNOWN if (number := _number(name)) >= 0}
    socket_call = _number("socket") if namespaces else UNKNOWN
    return build_guard(int(pyseccomp.system_arch()), numbers, socket_call) + _export(rules)


def _deny_calls(rules: pyseccomp.SyscallFilter, action: int) -> None:
    for names in DENIED.values():
        for name in names.split():
            _add(rules, action, name)
    for flag in (*CLONE_NEW_FLAGS, CLONE_UNTRACED):
        _add(rules, action, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))


@functools.cache
def notices(
    *, exits: bool = False, renames: bool = False, refused: bool = False, counted: bool = False
) -> bytes:
    """Return a filter that reports these calls to the supervisor before they take effect.

    With `refused` it also asks about what `build_told` leaves out of the refusing filter, which the
    kernel refuses (ENOSYS) when nobody answers, and reports connections. It is empty if no such
    call is requested or the kernel can't report them.

    Raises:
        OSError: libseccomp refused it or is missing.
    """
    calls = EXITS * exits + RENAMES * renames + CONNECTS * refused + COUNTED_CALLS * counted
    if not calls or pyseccomp.get_api() < NOTIFY_API:
        return b""
    rules = pyseccomp.SyscallFilter(defaction=pyseccomp.ALLOW)
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.ALLOW)  # the other filter's
    for name in calls:
        _add(rules, pyseccomp.NOTIFY, name)
    if refused:
        _deny_calls(rules, pyseccomp.NOTIFY)
        _deny_families(rules, pyseccomp.NOTIFY, ALL_FAMILIES - UNTOLD_FAMILIES)
    return _export(rules)


ToldCalls = tuple[bytes, tuple[tuple[int, int], ...]]
"""The refusing filter without the calls that are told, and by number the error of each."""


@functools.cache
def build_told(*, namespaces: bool = True) -> ToldCalls | None:
    """Return the filter next to `notices` with `refused`, or in tier B next to `build_judged`.

    None if the kernel cannot report calls.

    Raises:
        OSError: libseccomp refused a rule or is missing.
    """
    if pyseccomp.get_api() < NOTIFY_API:
        return None
    errors = dict.fromkeys(name_denied_calls(), errno.EPERM)
    errors[_number("socket")] = errno.EAFNOSUPPORT if namespaces else errno.EACCES
    rest = program(namespaces=namespaces, without_told=True)
    return rest, tuple(errors.items())


@functools.cache
def name_denied_calls() -> dict[int, str]:
    """Return the calls that are reported to the supervisor, by number."""
    names = [name for group in DENIED.values() for name in group.split()]
    numbers = {_number(name): name for name in (*names, "clone", "socket", *CONNECTS)}
    numbers.pop(UNKNOWN, None)
    return numbers


JudgedCalls = tuple[bytes, tuple[tuple[int, str], ...]]
"""A filter that asks about calls, and by number how each of them names its process."""


@functools.cache
def build_judged(abi: int) -> JudgedCalls:
    """Return the calls that tier B asks about or refuses if Landlock of this ABI is too old.

    Without a supervisor, all are refused. It also decides the calls that `build_told` leaves out.

    Raises:
        OSError: libseccomp refused it or is missing.
    """
    can_ask = pyseccomp.get_api() >= NOTIFY_API
    ask = pyseccomp.NOTIFY if can_ask else pyseccomp.ERRNO(errno.EPERM)
    rules = pyseccomp.SyscallFilter(defaction=pyseccomp.ALLOW)
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.ALLOW)  # the other filter's
    kinds = []
    for kind, names in (*ON_PROCESSES.items(), *(SIGNALS.items() if abi < SIGNALS_ABI else ())):
        for name in names.split():
            for place, own in OWN[kind].items():
                _add(rules, ask, name, pyseccomp.Arg(place, pyseccomp.NE, own))
            kinds.append((_number(name), kind))
    absent = pyseccomp.ERRNO(errno.ENOSYS)
    for name in FILE_CALLS.split():
        number = _number(name)
        if number != UNKNOWN:
            _add(rules, absent if name in COUNTED_CALLS and not can_ask else ask, name)
            kinds.append((number, name))
    if can_ask:
        _deny_calls(rules, ask)
        _deny_families(rules, ask, TOLD_SHARED_FAMILIES)
        kinds += [(told, REFUSED) for told in name_denied_calls() if told != _number("connect")]
    for name in (name for name in COUNTED_CALLS if name not in FILE_CALLS.split()):
        _add(rules, ask if can_ask else absent, name)
        kinds.append((_number(name), REFUSED))
    for mask, request in INODE_IOCTLS.items():
        chosen = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, mask, request)
        _add(rules, pyseccomp.ERRNO(errno.ENOTTY), "ioctl", chosen)
    if abi < SIGNALS_ABI:
        _deny_owners(rules)
    if abi < TRUNCATION_ABI:
        _deny_truncation(rules)
    return _export(rules), tuple(kinds)


def _deny_truncation(rules: pyseccomp.SyscallFilter) -> None:
    """Deny calls that empty a file that is not opened for writing."""
    refuse = pyseccomp.ERRNO(errno.EACCES)
    _add(rules, refuse, "truncate")
    _add(rules, pyseccomp.ERRNO(errno.ENOSYS), "openat2")  # its flags lie behind a pointer
    for name, place in {"open": 1, "openat": 2}.items():
        for mode in (os.O_RDONLY, os.O_ACCMODE):
            mask, flags = os.O_ACCMODE | os.O_TRUNC, mode | os.O_TRUNC
            _add(rules, refuse, name, pyseccomp.Arg(place, pyseccomp.MASKED_EQ, mask, flags))


def _deny_owners(rules: pyseccomp.SyscallFilter) -> None:
    """Deny calls that signal a process named by no argument, or only through a pointer."""
    # By a descriptor, which can be one of /proc/PID. Programs then do as on an older kernel.
    _add(rules, pyseccomp.ERRNO(errno.ENOSYS), "pidfd_send_signal")
    for name, commands in OWNER_CHOICES.items():
        for command in commands:
            chosen = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xFFFFFFFF, command)
            _add(rules, pyseccomp.ERRNO(errno.EPERM), name, chosen)


def _deny_shared(rules: pyseccomp.SyscallFilter, *, without_told: bool) -> None:
    """Deny calls on objects that would be the host's own, for lack of a namespace."""
    refuse = pyseccomp.ERRNO(errno.EACCES)
    for name in WITHOUT_NAMESPACES.split():
        if name != "socket" or not without_told:
            _add(rules, refuse, name)
    if without_told:
        _deny_families(rules, refuse, UNTOLD_SHARED_FAMILIES)
        _add(rules, refuse, "socket", pyseccomp.Arg(0, pyseccomp.GE, FAMILIES))
    _add(rules, refuse, "socketpair", pyseccomp.Arg(0, pyseccomp.NE, socket.AF_UNIX))
    for kind in set(range(SOCK_TYPE_MASK + 1)) - set(PAIR_KINDS):
        _add(
            rules, refuse, "socketpair", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, SOCK_TYPE_MASK, kind)
        )
    shares = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, 0xFFFFFFFF, PR_SCHED_CORE)
    _add(rules, pyseccomp.ERRNO(errno.EPERM), "prctl", shares)


def _deny_families(rules: pyseccomp.SyscallFilter, action: int, families: frozenset[int]) -> None:
    """Deny families of sockets. The kernel reads 32 bits of a family: higher bits are ignored."""
    for family in sorted(families):
        chosen = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, 0xFFFFFFFF, family)
        _add(rules, action, "socket", chosen)


def _deny_device_nodes(rules: pyseccomp.SyscallFilter) -> None:
    """Deny device nodes. Linux requires a capability for them, gVisor does not."""
    for name, mode in {"mknod": 1, "mknodat": 2}.items():
        for kind in (stat.S_IFCHR, stat.S_IFBLK):
            device = pyseccomp.Arg(mode, pyseccomp.MASKED_EQ, DEVICE_KINDS, kind)
            _add(rules, pyseccomp.ERRNO(errno.EPERM), name, device)


def _add(rules: pyseccomp.SyscallFilter, action: int, name: str, *arguments: pyseccomp.Arg) -> None:
    """Add a rule; a call that this architecture does not have needs none."""
    number = _number(name)
    if number != UNKNOWN:
        rules.add_rule(action, number, *arguments)


def _number(name: str) -> int:
    number = int(pyseccomp.resolve_syscall(pyseccomp.system_arch(), name))
    return NUMBERS.get(name, UNKNOWN) if number == UNKNOWN else number


def _export(rules: pyseccomp.SyscallFilter) -> bytes:
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return os.pread(file.fileno(), 1 << 20, 0)
