"""Removing a folder that a program filled: however deep, locked or full of strange names."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

SECONDS_MAX = 60.0
SYSTEM_PATH = "/usr/bin:/bin"


def remove(folder: Path) -> None:
    """Take `folder` away, as far as this user may.

    By `rm`, which walks any depth; a program can nest deeper than Python can recurse.
    """
    with contextlib.suppress(OSError):  # an empty one, as most are, needs no process
        os.rmdir(folder)
    if not os.path.lexists(folder):
        return
    rm, chmod = (shutil.which(name, path=SYSTEM_PATH) for name in ("rm", "chmod"))
    with contextlib.suppress(subprocess.TimeoutExpired):
        if rm and _run(rm, "-rf", "--", str(folder)) != 0 and chmod:
            _run(chmod, "-R", "u+rwx", "--", str(folder))  # it may have locked its own folders
            _run(rm, "-rf", "--", str(folder))


def _run(*command: str) -> int:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=SECONDS_MAX,
        check=False,
        env={},
    ).returncode
