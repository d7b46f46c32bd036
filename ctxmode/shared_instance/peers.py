"""Comparison of a command's process with this one: only a fork of an equal process may do what the
command would do itself."""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxmode.shared_instance.messages import CommandLine

_STATUS = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs")
_SECCOMP = ("Seccomp", "Seccomp_filters", "Cpus_allowed", "Mems_allowed")
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


def become(asked: CommandLine) -> None:
    """Take the environment, folder and umask of a command."""
    os.environ.clear()
    os.environ.update(asked.environ)
    time.tzset()
    os.umask(asked.mask)
    os.chdir(asked.folder)


def stamp_code() -> object:
    """Return what tells whether the program's files have changed since they were loaded."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    stamps = []
    for file in sorted(filter(None, files)):
        try:
            found = os.stat(file)
        except OSError:
            return None  # it is being replaced
        stamps.append((file, found.st_mtime_ns, found.st_ino))
    return stamps
