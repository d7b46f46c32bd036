"""System calls that Python has no function for, and calls that the kernel asks us about."""

from __future__ import annotations

import array
import contextlib
import ctypes
import errno
import fcntl
import os
import platform
import select
import signal
import stat
import struct
from typing import NamedTuple

from . import proc

# _IOWR('!', 0, struct seccomp_notif), _IOWR('!', 1, struct seccomp_notif_resp): linux/seccomp.h
RECEIVE, ANSWER = 0xC0502100, 0xC0182101
IS_VALID = 0x40082102  # _IOW('!', 2, __u64), and before Linux 5.17:
WAS_VALID = 0x80082102
NOTIFICATION = struct.Struct("=QIIiIQ6Q")
RESPONSE = struct.Struct("=QqiI")
SET_FLAGS = 0x40082104  # _IOW('!', 4, __u64)
CONTINUE, SYNC_WAKE_UP = 1, 1


class HeldCall(NamedTuple):
    """A system call in which a thread waits until it is answered, or killed."""

    listener: int
    id: int
    thread: int  # that made the call
    number: int
    arguments: tuple[int, ...]  # as the kernel took them

    def go_on(self) -> None:
        """Make the kernel do the call as usual."""
        with contextlib.suppress(OSError):  # the caller was killed in the meantime
            fcntl.ioctl(self.listener, ANSWER, RESPONSE.pack(self.id, 0, 0, CONTINUE))

    def answer(self, error: int, value: int = 0) -> None:
        """Make the call fail with this error or, if that is 0, return this value."""
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.listener, ANSWER, RESPONSE.pack(self.id, value, -error, 0))

    def is_there(self) -> bool:
        """Return whether the thread still waits in the call, so that its number was not reused."""
        for request in (IS_VALID, WAS_VALID):
            with contextlib.suppress(OSError):
                fcntl.ioctl(self.listener, request, struct.pack("=Q", self.id))
                return True
        return False


def hand_over_at_once(fd: int) -> None:
    """Make caller and answerer wake each other on one processor: one of them always waits."""
    with contextlib.suppress(OSError):  # before Linux 6.6
        fcntl.ioctl(fd, SET_FLAGS, SYNC_WAKE_UP)


def is_asked(fd: int) -> bool:
    """Return whether a process asks. The descriptor is also ready if none is left to ask."""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return any(event & select.POLLIN for _, event in poller.poll(0))


def receive(fd: int) -> HeldCall:
    """Receive a call; only when `is_asked`.

    Raises:
        OSError: the caller was killed in the meantime.
    """
    buffer = bytearray(NOTIFICATION.size)
    fcntl.ioctl(fd, RECEIVE, buffer)
    number, thread, _, call, _, _, *arguments = NOTIFICATION.unpack(buffer)
    return HeldCall(fd, number, thread, call, tuple(arguments))


ARM = platform.machine() == "aarch64"
SYS_CLONE, SYS_PIVOT_ROOT, SYS_CAPSET = (220, 41, 91) if ARM else (56, 155, 126)
SYS_SECCOMP, SYS_PTRACE, SYS_EXIT_GROUP = (277, 117, 94) if ARM else (317, 101, 231)
SYS_SOCKET, SYS_CONNECT = (198, 203) if ARM else (41, 42)
# -1: this architecture has no plain inotify_init(2) or rename(2).
SYS_INOTIFY = (-1, 26, 27) if ARM else (253, 294, 254)  # create, create with flags, add a watch
SYS_RENAME, SYS_RENAMEAT, SYS_RENAMEAT2 = (-1, 38, 276) if ARM else (82, 264, 316)
# The same on every architecture: they came after the tables were unified.
SYS_OPEN_TREE, SYS_MOVE_MOUNT, SYS_CLOSE_RANGE, SYS_MOUNT_SETATTR = 428, 429, 436, 442
SYS_LANDLOCK_CREATE, SYS_LANDLOCK_ADD, SYS_LANDLOCK_RESTRICT = 444, 445, 446
SYS_OPENAT2, SYS_PIDFD_GETFD = 437, 438

CLONE_NEWNS, CLONE_NEWUSER, CLONE_PIDFD = 0x00020000, 0x10000000, 0x1000
# user, mount, pid, net, ipc, uts, cgroup
CLONE_ALL_NEW = (
    CLONE_NEWUSER | CLONE_NEWNS | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000 | 0x02000000
)
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 0x2, 0x4, 0x8, 0x4000, 1 << 18
MNT_DETACH = 2
OPEN_TREE_CLONE, AT_RECURSIVE, AT_EMPTY_PATH = 1, 0x8000, 0x1000
MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH = 0x4, 0x40
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV, ATTR_IDMAP = 0x1, 0x2, 0x4, 0x00100000
READ_ONLY = ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV
AT_FDCWD = -100
RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH = 0x02, 0x04, 0x08

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_SECUREBITS, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 28, 36, 38, 47
PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207

libc = ctypes.CDLL(None, use_errno=True)
# PyDLL keeps the interpreter's lock held across clone(), so that parent and child both continue as
# its owner, exactly as after os.fork().
_libc_locked = ctypes.PyDLL(None, use_errno=True)


class StepError(Exception):
    """A step of making a cell failed; its text names the step and the kernel's reason."""


def reason(error: BaseException) -> str:
    """Format an error; an unexpected one with its kind and place."""
    if isinstance(error, (StepError, OSError)):
        return str(error) or type(error).__name__
    place, at = "", error.__traceback__
    while at is not None:
        place = f" ({os.path.basename(at.tb_frame.f_code.co_filename)}, line {at.tb_lineno})"
        at = at.tb_next
    return f"{type(error).__name__}: {error}{place}"


def check(result: int, step: str) -> int:
    """Return the result of a call to libc.

    Raises:
        StepError: it is negative.
    """
    if result < 0:
        code = ctypes.get_errno()
        cause = OSError(code, os.strerror(code))
        raise StepError(f"{step}: {cause.strerror} ({errno.errorcode.get(code, code)})") from cause
    return result


def syscall(step: str, number: int, *args: int | bytes) -> int:
    """Make a system call by number. Integers go as machine words, bytes as pointers to them."""
    wide = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return check(libc.syscall(ctypes.c_long(number), *wide), step)


def prctl(step: str, option: int, a: int = 0, b: int | bytes = 0) -> int:
    wide = [ctypes.c_ulong(x) if isinstance(x, int) else x for x in (a, b, 0, 0)]
    return check(libc.prctl(option, *wide), step)


def ptrace(request: int, thread: int, data: int = 0) -> int:
    """Make a ptrace call; return 0 or the error's number: most errors are expected by a tracer."""
    wide = [ctypes.c_long(x) for x in (SYS_PTRACE, request, thread, 0, data)]
    return 0 if libc.syscall(*wide) == 0 else ctypes.get_errno()


def mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    texts = [os.fsencode(text) for text in (source, target, kind)]
    result = libc.mount(*texts, ctypes.c_ulong(flags), os.fsencode(data))
    check(result, f"mount {kind} on {target}")


def detach(path: str) -> None:
    """Remove a mount from the tree; processes that hold it open may keep using it."""
    check(libc.umount2(os.fsencode(path), MNT_DETACH), f"umount {path}")


def open_tree(path: str, *, recursive: bool = True) -> int:
    """Return a detached copy of the mount at `path`, as a descriptor."""
    flags = OPEN_TREE_CLONE | os.O_CLOEXEC | (AT_RECURSIVE if recursive else 0)
    return syscall(f"open_tree {path}", SYS_OPEN_TREE, AT_FDCWD, os.fsencode(path), flags)


def open_plain_tree(path: str) -> int:
    """Make a detached copy of the mount at an absolute path, reached through no link.

    Raises:
        StepError: a link is on the way, or it can't be mounted.
    """
    place = open_absolute(path, os.O_PATH)
    try:
        flags = OPEN_TREE_CLONE | os.O_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH
        return syscall(f"open_tree {path}", SYS_OPEN_TREE, place, b"", flags)
    finally:
        os.close(place)


def set_attributes(tree: int, attributes: int, userns: int = 0, *, recursive: bool = True) -> None:
    spec = struct.pack("=QQQQ", attributes, 0, 0, userns)
    flags = AT_EMPTY_PATH | (AT_RECURSIVE if recursive else 0)
    syscall("mount_setattr", SYS_MOUNT_SETATTR, tree, b"", flags, spec, len(spec))


def attach(tree: int, target: str) -> None:
    """Put a detached mount into the tree at `target`, and close its descriptor."""
    path = os.fsencode(target)
    flags = MOVE_MOUNT_F_EMPTY_PATH
    syscall(f"move_mount {target}", SYS_MOVE_MOUNT, tree, b"", AT_FDCWD, path, flags)
    os.close(tree)


def attach_at(tree: int, place: int) -> None:
    """Put a detached mount on a place that is open already, and close both."""
    flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH
    syscall("move_mount", SYS_MOVE_MOUNT, tree, b"", place, b"", flags)
    os.close(tree)
    os.close(place)


def open_absolute(path: str, flags: int) -> int:
    """Open an absolute path without following any symbolic link.

    Raises:
        StepError: the file does not exist, or a link is on the path.
    """
    root = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return open_beneath(root, path.strip("/") or ".", flags)
    finally:
        os.close(root)


def open_beneath(folder: int, path: str, flags: int) -> int:
    """Open below `folder` without following any symbolic link.

    With O_PATH and O_NOFOLLOW a link at the end is opened itself.

    Raises:
        StepError: the file does not exist, or a link is on the path.
    """
    resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, 0, resolve)
    try:
        return syscall(f"open {path}", SYS_OPENAT2, folder, os.fsencode(path), how, len(how))
    except StepError:
        if ctypes.get_errno() != errno.ENOSYS:  # before Linux 5.6, and under gVisor
            raise
    return _open_step_by_step(folder, path, flags)


def _open_step_by_step(folder: int, path: str, flags: int) -> int:
    *parents, name = path.split("/")
    at = os.dup(folder)
    try:
        if not {"", ".", ".."}.isdisjoint(parents) or name in ("", ".."):
            raise StepError(f"open {path}: not a plain path")
        for parent in parents:
            below = os.open(parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        return _open_itself(at, name, flags)
    except OSError as error:
        raise StepError(f"open {path}: {error.strerror}") from error
    finally:
        os.close(at)


def _open_itself(folder: int, name: str, flags: int) -> int:
    """Open an entry that is not a link, or that link if the flags ask for it.

    gVisor follows a link despite O_NOFOLLOW if O_DIRECTORY is given, so both are compared.
    """
    place = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        found = os.fstat(place)
        is_wanted = flags & os.O_PATH and flags & os.O_NOFOLLOW
        if stat.S_ISLNK(found.st_mode) and not is_wanted:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        opened = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        if not os.path.samestat(os.fstat(opened), found):
            os.close(opened)
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    finally:
        os.close(place)
    return opened


def copy_descriptor(thread: int, number: int) -> int:
    """Copy a descriptor of another process into this one; the caller closes it.

    Raises:
        OSError: it has no descriptor of that number, or this process may not copy it.
    """
    process, _, _ = proc.identity(f"/proc/{thread}")
    pidfd = os.pidfd_open(process)
    try:
        wide = [ctypes.c_long(x) for x in (SYS_PIDFD_GETFD, pidfd, number & 0xFFFFFFFF, 0)]
        copy = int(libc.syscall(*wide))
    finally:
        os.close(pidfd)
    if copy < 0:
        raise OSError(ctypes.get_errno(), "")
    return copy


def close_from(first: int) -> None:
    # No descriptor is higher; gVisor reads larger values as negative numbers.
    syscall("close_range", SYS_CLOSE_RANGE, first, 0x7FFFFFFF, 0)


def clone(flags: int) -> tuple[int, int]:
    """fork() into new namespaces: (pid, pidfd) in the parent, (0, -1) in the child."""
    pidfd = array.array("i", [-1])
    address, _ = pidfd.buffer_info()
    args = (SYS_CLONE, flags | CLONE_PIDFD | signal.SIGCHLD, 0, address, 0, 0)
    pid = _libc_locked.syscall(*(ctypes.c_long(arg) for arg in args))
    return check(pid, "clone"), pidfd[0]
