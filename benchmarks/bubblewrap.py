"""A yardstick: Debian's bubblewrap with the mounts of a cell and fewer layers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from executor.engine import rootfs

MISSING = "bubblewrap is not here: apt-get install --no-install-recommends bubblewrap"


def command(project: Path, argv: Sequence[str]) -> tuple[str, ...] | None:
    """The command line that runs `argv` in the project; None without bubblewrap.

    The same namespaces, read-only mounts, devices and tmpfs as a cell has; no Landlock, no filter
    of system calls, no control group, no sized copy of the project but a read-only one.
    """
    program = shutil.which("bwrap")
    if program is None:
        return None
    options = [
        *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *("--uid", "65432", "--gid", "65432", "--hostname", rootfs.HOSTNAME, "--clearenv"),
    ]
    for path in rootfs.system_entries().binds:
        options += ["--ro-bind", path, path]
    for target, link in rootfs.system_entries().links:
        if not link.startswith("/dev/"):
            options += ["--symlink", target, link]
    options += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", rootfs.SCRATCH]
    options += ["--tmpfs", rootfs.HOME, "--ro-bind", str(project), str(project)]
    options += ["--chdir", str(project), "--setenv", "PATH", os.defpath]
    return (program, *options, *argv)
