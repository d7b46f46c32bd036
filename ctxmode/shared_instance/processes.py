"""Processes of the shared instances, and of commands: only a fork of an equal process may do what a
command would do itself."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from base.locks import POLL_S, is_held

if TYPE_CHECKING:
    from ctxmode.shared_instance.messages import CommandLine

_STATUS = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs")
_SECCOMP = ("Seccomp", "Seccomp_filters", "Cpus_allowed", "Mems_allowed")
CLONE_FS = 0x200  # linux/sched.h
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")

Traits = tuple[object, ...]
"""Rights, resource limits, namespaces, root folder and priority of a process (proc(5))."""


def find_process(stream: socket.socket) -> int:
    """Return the process at the other end of a connection (SO_PEERCRED, unix(7))."""
    size = struct.calcsize("3i")
    process, user, _ = struct.unpack(
        "3i", stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    )
    if user != os.geteuid():
        raise PermissionError(f"a process of the user with id {user}")
    return int(process)


def describe(process: int) -> Traits:
    """Describe a process of this user; raise OSError if it is gone."""
    folder = f"/proc/{process}"
    with open(f"{folder}/status", encoding="utf-8", errors="replace") as file:
        lines = (line.partition(":") for line in file)
        status = {name: value.split() for name, _, value in lines if name in _STATUS + _SECCOMP}
    with open(f"{folder}/limits", encoding="utf-8") as file:
        limits = file.read()
    spaces = [os.readlink(f"{folder}/ns/{name}") for name in _NAMESPACES]
    priority = os.getpriority(os.PRIO_PROCESS, process)
    return status, limits, spaces, os.readlink(f"{folder}/root"), priority


def leave_folder() -> bool:
    """Give this thread a working folder and umask apart from other threads (unshare(2)); return
    whether the kernel permits that. Most containers do not."""
    return int(ctypes.CDLL(None).unshare(CLONE_FS)) == 0


def become(asked: CommandLine) -> None:
    """Take the environment, folder and umask of a command."""
    os.environ.clear()
    os.environ.update(asked.environ)
    time.tzset()
    os.umask(asked.mask)
    os.chdir(asked.folder)


def stamp_code() -> object:
    """Return a value that differs if the program's files have changed since they were loaded."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    stamps = []
    for file in sorted(filter(None, files)):
        try:
            found = os.stat(file)
        except OSError:
            return None  # it is being replaced
        stamps.append((file, found.st_mtime_ns, found.st_ino))
    return stamps


END_S_MAX = 5.0


def list_processes(state_dir: Path) -> list[int]:
    """List the processes of the instances, of all versions."""
    return [process for _, process in _list_held(state_dir)]


def end_instances(state_dir: Path) -> list[int]:
    """Ask all instances to end, and wait until they take no more requests; return their processes.
    Active runs continue to their end, and servers of agents by themselves."""
    found = list(_list_held(state_dir))
    for _, process in found:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
    until = time.monotonic() + END_S_MAX
    while any(_is_held(lock) for lock, _ in found) and time.monotonic() < until:
        time.sleep(POLL_S)
    return [process for _, process in found]


def _list_held(state_dir: Path) -> Iterator[tuple[Path, int]]:
    for lock in sorted((state_dir / "shared").glob("*.lock")):
        if _is_held(lock) and (text := lock.read_text("ascii")).isdecimal():
            yield lock, int(text)


def _is_held(lock: Path) -> bool:
    with suppress(OSError):
        return is_held(lock)
    return False
