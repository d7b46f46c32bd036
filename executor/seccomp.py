"""The system call filter, built once with libseccomp and kept as bytes.

A denylist, because sixteen languages with their own runtimes must run under it: what a program
that only computes never needs, and what has a record of reaching around namespaces and Landlock.
"""

from __future__ import annotations

import errno
import functools
import os
import socket
import stat
import tempfile
from dataclasses import dataclass

import pyseccomp

# Answered with EPERM, by what they would touch.
DENIED = {
    "mounts and roots": (
        "mount umount2 umount pivot_root chroot move_mount open_tree open_tree_attr fsopen "
        "fsconfig fsmount fspick mount_setattr listmount statmount"
    ),
    "namespaces": "unshare setns",
    "other processes": (
        "ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp "
        "move_pages migrate_pages process_mrelease"
    ),
    "kernel attack surface": (
        "io_uring_setup io_uring_enter io_uring_register bpf perf_event_open userfaultfd "
        "memfd_secret lookup_dcookie fanotify_init fanotify_mark vhangup nfsservctl "
        "uselib ustat sysfs _sysctl modify_ldt vm86 vm86old remap_file_pages"
    ),
    "kernel keyrings": "keyctl add_key request_key",
    "files by handle": "open_by_handle_at name_to_handle_at",
    "the machine": (
        "init_module finit_module delete_module create_module get_kernel_syms query_module "
        "kexec_load kexec_file_load reboot swapon swapoff iopl ioperm quotactl quotactl_fd acct "
        "syslog sethostname setdomainname"
    ),
    "clocks": (
        "settimeofday stime clock_settime clock_settime64 clock_adjtime clock_adjtime64 adjtimex"
    ),
}
# Calls younger than the libseccomp of stable distributions. From 424 on a call has the same number
# on every architecture (arch/x86/entry/syscalls/syscall_64.tbl and its kin).
NUMBERS = {
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "memfd_secret": 447,
    "process_mrelease": 448,
    "statmount": 457,
    "listmount": 458,
    "open_tree_attr": 467,
}
CLONE_NEW_FLAGS = (
    0x00020000,  # mount
    0x02000000,  # cgroup
    0x04000000,  # uts
    0x08000000,  # ipc
    0x10000000,  # user
    0x20000000,  # pid
    0x40000000,  # net
    0x00000080,  # time
)
CLONE_UNTRACED = 0x00800000  # born beside what stops a session's processes between calls
# F_SETLEASE, F_NOTIFY, F_SETDELEG: whoever opens the file waits for a holder that may be stopped.
DENIED_FILE_COMMANDS = (1024, 1026, 1040)
UNKNOWN = -1  # __NR_SCMP_ERROR
NOTIFY_API = 5  # seccomp_api_get(3): the kernel and the library know of notifications
# Terminal ioctls that put keystrokes into someone's terminal (TIOCSTI, TIOCLINUX, TIOCSETD).
DENIED_IOCTLS = (0x5412, 0x541C, 0x5423)
DEVICE_KINDS = 0o170000  # S_IFMT
# Families that reach past an empty network namespace, or whose code is rarely exercised.
ALLOWED_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)


@dataclass(frozen=True, slots=True)
class Filter:
    """What a tier needs of its filter beyond the denylist."""

    # False in tier B, which has no namespace for either: no socket() of any family, and none of
    # the System V objects, which would outlive the run.
    sockets: bool = True
    own_kernel: bool = False  # a container's own, like gVisor's, which asks for fewer capabilities


@functools.cache
def program(spec: Filter) -> bytes:
    """The filter as the kernel's instructions.

    Raises:
        OSError: libseccomp refused a rule or is missing.
    """
    kill = pyseccomp.KILL_PROCESS
    rules = pyseccomp.SyscallFilter(defaction=pyseccomp.ALLOW)
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, kill)
    refuse = pyseccomp.ERRNO(errno.EPERM)
    for names in DENIED.values():
        for name in names.split():
            _add(rules, refuse, name)
    _add(rules, refuse, "personality", pyseccomp.Arg(0, pyseccomp.NE, 0))
    _add(rules, pyseccomp.ERRNO(errno.ENOSYS), "clone3")  # its flags lie behind a pointer
    for flag in (*CLONE_NEW_FLAGS, CLONE_UNTRACED):
        _add(rules, refuse, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    for request in DENIED_IOCTLS:
        _add(rules, refuse, "ioctl", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xFFFFFFFF, request))
    for command in DENIED_FILE_COMMANDS:
        for name in ("fcntl", "fcntl64"):
            _add(rules, refuse, name, pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xFFFFFFFF, command))
    _deny_sockets(rules, spec)
    if spec.own_kernel:
        _deny_device_nodes(rules)
    return _export(rules)


@functools.cache
def exit_notice() -> bytes:
    """A filter that has every exit told before it takes effect; empty where that is unknown.

    Raises:
        OSError: libseccomp refused it or is missing.
    """
    if pyseccomp.get_api() < NOTIFY_API:
        return b""
    rules = pyseccomp.SyscallFilter(defaction=pyseccomp.ALLOW)
    _add(rules, pyseccomp.NOTIFY, "exit_group")
    return _export(rules)


def _deny_sockets(rules: pyseccomp.SyscallFilter, spec: Filter) -> None:
    unsupported = pyseccomp.ERRNO(errno.EAFNOSUPPORT)
    if not spec.sockets:
        for name in ("socket", "shmget", "semget", "msgget", "mq_open"):
            _add(rules, pyseccomp.ERRNO(errno.EACCES), name)
        return
    for family in range(64):
        if family not in ALLOWED_FAMILIES:
            _add(rules, unsupported, "socket", pyseccomp.Arg(0, pyseccomp.EQ, family))


def _deny_device_nodes(rules: pyseccomp.SyscallFilter) -> None:
    """Device nodes need a capability in Linux, which gVisor does not ask for."""
    for name, mode in {"mknod": 1, "mknodat": 2}.items():
        for kind in (stat.S_IFCHR, stat.S_IFBLK):
            device = pyseccomp.Arg(mode, pyseccomp.MASKED_EQ, DEVICE_KINDS, kind)
            _add(rules, pyseccomp.ERRNO(errno.EPERM), name, device)


def _add(rules: pyseccomp.SyscallFilter, action: int, name: str, *arguments: pyseccomp.Arg) -> None:
    """Add a rule; a call that this architecture does not have needs none."""
    number = pyseccomp.resolve_syscall(pyseccomp.system_arch(), name)
    if number == UNKNOWN:
        number = NUMBERS.get(name, UNKNOWN)
    if number != UNKNOWN:
        rules.add_rule(action, number, *arguments)


def _export(rules: pyseccomp.SyscallFilter) -> bytes:
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return os.pread(file.fileno(), 1 << 20, 0)
