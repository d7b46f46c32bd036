"""Confinement of the program's process just before exec: Landlock, no capability, seccomp."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import socket
import stat
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from .kernel import (
    PR_CAP_AMBIENT,
    PR_CAPBSET_DROP,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_SECCOMP,
    PR_SET_SECUREBITS,
    SYS_CAPSET,
    SYS_LANDLOCK_ADD,
    SYS_LANDLOCK_CREATE,
    SYS_LANDLOCK_RESTRICT,
    SYS_SECCOMP,
    StepError,
    close_from,
    libc,
    prctl,
    reason,
    syscall,
)
from .messages import RunDescription
from .process_calls import JudgedFilter

# no root magic, no setuid fixup, no ambient capabilities; each locked
SECUREBITS = 0b11101111
CAPABILITY_VERSION_3 = 0x20080522
# Landlock's file rights by ABI: how many bits exist.
LANDLOCK_FILE_BITS = {1: 13, 2: 14, 3: 15, 4: 15}
LANDLOCK_FILE_BITS_LATEST = 16
EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL_DEVICE = 1 << 14, 1 << 15
# Of seccomp(2). Once a call was reported, only a fatal signal takes its thread out of it: otherwise
# the work started for the call would start again.
SET_FILTER, NEW_LISTENER, WAIT_KILLABLE = 1, 1 << 3, 1 << 5
LISTENERS = b"\0"  # the message by which a process sends its listeners
BIND_AND_CONNECT_TCP = 3
ABSTRACT_SOCKETS, SIGNALS = 1, 2  # what Landlock can scope
SCOPES_ABI = 6
SENT_AT_ONCE = 254  # descriptors by which a limit is passed: SCM_MAX_FD (include/net/scm.h) + 1


@dataclass(frozen=True, slots=True)
class Confinement:
    """The restrictions on the program and everything it starts."""

    grants: Sequence[tuple[str, str]]  # Landlock: (path, access)
    deny_tcp: bool
    rlimits: Sequence[tuple[int, int]]
    seccomp: bytes
    notices: bytes = b""  # a second filter, for ordinary programs: see `notices`
    heavy_notices: bytes = b""  # the one for heavy programs
    without_told: bytes = b""  # replaces `seccomp` if the supervisor receives the notices
    judged: JudgedFilter | None = None  # or a filter that asks about calls, see `process_calls`
    scopes_signals: bool = True  # False if Landlock is too old for it, or is to be treated so


@dataclass(frozen=True, slots=True)
class Line:
    """The channel between the supervisor and a process, until exec closes it.

    A process that `waits` reads one byte from it when all restrictions are in force. A process with
    `notices`, or one that is judged, first sends a message, with the descriptor of that filter if
    it could be installed.
    """

    fd: int
    waits: bool = False
    notices: bytes = b""


def enter_program(
    argv: Sequence[str],
    run: RunDescription,
    confinement: Confinement,
    stdio: Sequence[int],
    line: Line,
) -> NoReturn:
    """Become the program, with `stdio` as its descriptors from 0 on.

    Errors before exec are written to the line.
    """
    end = line.fd
    try:
        reset_signals()
        # Not in the supervisor's group: kill(0) of the program would reach the supervisor.
        os.setsid()
        os.umask(0o022)
        end = arrange_descriptors(stdio, end)
        os.chdir(run["cwd"])
        _take_on(confinement)
        # The filter that asks comes first: only if the supervisor has its listener may the other
        # one leave out those calls. The kernel refuses a second listener (EBUSY).
        is_heard = False
        if confinement.judged:
            is_heard = _hand_over_listener(confinement.judged[0], end, is_required=True)
        elif line.notices:
            is_heard = _hand_over_listener(line.notices, end)
        # The supervisor refuses the calls it is asked about; if it is gone, the kernel does.
        refusing = confinement.without_told if is_heard else b""
        _install_filter(refusing or confinement.seccomp)
        # Last: a listener on its way to the supervisor counts against the limit of descriptors, and
        # a low limit of memory would end this process instead of the program.
        _set_rlimits(confinement.rlimits)
        if line.waits and not os.read(end, 1):
            os._exit(0)  # the supervisor is gone
        os.execve(argv[0], list(argv), run["env"])  # noqa: S606 - no shell is the point
    except OSError as error:
        named = error.filename or argv[0]
        os.write(end, f"{named}: {error.strerror}".encode(errors="replace"))
    except BaseException as error:  # without a message it would count as started
        os.write(end, reason(error).encode(errors="replace"))
    finally:
        os._exit(126)


def confine(confinement: Confinement) -> None:
    """Apply a program's confinement permanently, except the filter that reports its calls.

    Raises:
        OSError, StepError: a layer is refused.
    """
    _take_on(confinement)
    _install_filter(confinement.seccomp)
    _set_rlimits(confinement.rlimits)


def _take_on(confinement: Confinement) -> None:
    """Apply all layers except limits and the filters of calls."""
    # First: without it, the kernel denies Landlock and filters to an unprivileged process.
    prctl("no_new_privs", PR_SET_NO_NEW_PRIVS, 1)
    if landlock_abi() > 0:
        _restrict(confinement)
    _drop_capabilities()


def arrange_descriptors(stdio: Sequence[int], line: int) -> int:
    """Put `stdio` at 0 and up, and the line after it, where exec closes it."""
    first_free = len(stdio)
    # First move all away from the targets: a source may have the number of another one's target.
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, first_free) for fd in (*stdio, line)]
    for target, source in enumerate(moved[:-1]):
        os.dup2(source, target)
    if moved[-1] != first_free:
        os.dup2(moved[-1], first_free, inheritable=False)
    close_from(first_free + 1)
    return first_free


def landlock_abi() -> int:
    """Return the version of Landlock in this kernel; 0 or less without it."""
    args = (ctypes.c_long(SYS_LANDLOCK_CREATE), None, ctypes.c_long(0), ctypes.c_long(1))
    return int(libc.syscall(*args))


def reset_signals() -> None:
    """Reset all signals. Python ignores SIGPIPE and SIGXFSZ; a program must find the defaults."""
    for number in signal.valid_signals():
        if signal.getsignal(number) is not signal.SIG_DFL:  # without a system call
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _set_rlimits(rlimits: Sequence[tuple[int, int]]) -> None:
    """Set soft and hard limits alike; a lower hard limit of the host is kept."""
    for name, value in rlimits:
        soft, hard = resource.getrlimit(name)
        ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
        if name == resource.RLIMIT_NOFILE and soft != resource.RLIM_INFINITY:
            # Descriptors in flight are counted by user, against the sender's limit (unix(7)). Each
            # run needs some sent: a program's limit is below the sender's.
            ceiling = min(ceiling, max(soft - SENT_AT_ONCE, soft // 2))
        if resource.getrlimit(name) != (ceiling, ceiling):  # gVisor refuses to set some limits
            resource.setrlimit(name, (ceiling, ceiling))


def _restrict(confinement: Confinement) -> None:
    """Restrict by Landlock: every right of this kernel's ABI is denied unless granted.

    A grant is (path, "r"), which includes execution, (path, "rw") or (path, "list").
    """
    abi = landlock_abi()
    every = (1 << LANDLOCK_FILE_BITS.get(abi, LANDLOCK_FILE_BITS_LATEST)) - 1
    rights = {"r": EXECUTE | READ_FILE | READ_FOLDER, "rw": every, "list": READ_FOLDER}
    attributes = struct.pack(
        "=QQQ",
        every,
        BIND_AND_CONNECT_TCP if abi >= 4 and confinement.deny_tcp else 0,
        (ABSTRACT_SOCKETS | SIGNALS * confinement.scopes_signals) if abi >= SCOPES_ABI else 0,
    )
    known = (
        8 if abi < 4 else 16 if abi < SCOPES_ABI else 24
    )  # bytes of the struct this kernel knows
    ruleset = syscall("landlock ruleset", SYS_LANDLOCK_CREATE, attributes, known, 0)
    for path, access in confinement.grants:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # a missing path can't be reached either
        granted = rights[access]
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            granted &= (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE) & every
        rule = struct.pack("=Qi", granted, fd)
        syscall(f"landlock rule {path}", SYS_LANDLOCK_ADD, ruleset, 1, rule, 0)
        os.close(fd)
    syscall("landlock restrict", SYS_LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


def leave_root() -> None:
    """Become the supervisor's user permanently if it could still become root (in a container)."""
    user = os.geteuid()
    if os.getuid() == 0 != user:
        # Regain root's capabilities for the next call; `setresuid` drops them permanently.
        os.seteuid(0)
        _drop_bounding_set()
        os.setresuid(user, user, user)


def _drop_capabilities() -> None:
    leave_root()
    libc.prctl(PR_CAP_AMBIENT, 4, 0, 0, 0)  # clear all; does not exist before Linux 4.3
    libc.prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0)  # denied in tier B: nothing to lose there
    _drop_bounding_set()
    # Last: the bounding set and the securebits can only be set with CAP_SETPCAP.
    syscall("capset", SYS_CAPSET, struct.pack("=Ii", CAPABILITY_VERSION_3, 0), bytes(24))


def _drop_bounding_set() -> None:
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # past the last one, or tier B, where the bounding set grants nothing anyway


def _install_filter(program: bytes) -> None:
    buffer = ctypes.create_string_buffer(program, len(program))
    prctl("seccomp", PR_SET_SECCOMP, 2, _sock_fprog(buffer))


def _hand_over_listener(program: bytes, line: int, *, is_required: bool = False) -> bool:
    """Install a filter that asks, and send the supervisor its listener; return if there is one.

    The kernel gives none if another listener is above this process. A filter that is `required` is
    installed nevertheless: then the kernel refuses the calls it would have asked about.
    """
    buffer = ctypes.create_string_buffer(program, len(program))
    flags = NEW_LISTENER | WAIT_KILLABLE
    listeners = []
    try:
        listeners = [syscall("listen", SYS_SECCOMP, SET_FILTER, flags, _sock_fprog(buffer))]
    except StepError:
        if is_required:
            _install_filter(program)
    with socket.socket(fileno=os.dup(line)) as supervisor:
        socket.send_fds(supervisor, [LISTENERS], listeners)
    for listener in listeners:
        os.close(listener)
    return bool(listeners)


def _sock_fprog(program: ctypes.Array[ctypes.c_char]) -> bytes:
    """Return a struct sock_fprog: the number of 8-byte instructions and their address."""
    return struct.pack("@HxxxxxxQ", len(program) // 8, ctypes.addressof(program))
