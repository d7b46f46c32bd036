"""The server's folder in the temporary directory, and removal of folders that programs filled."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from executor.errors import SandboxUnavailableError

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


MODE = 0o711  # cells of a server that is root are another user's, and reach what they are shown
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
REMEDY = "Set TMPDIR to a folder that only you can write to, and start again"


def own(folder: Path) -> Path:
    """`folder`, made if it is missing: it goes with what empties the temporary directory at times.

    Whoever has seen its name could have made it since, or a link of that name.

    Raises:
        SandboxUnavailableError: it is another user's, no folder, or open to others.
        OSError: it can't be made.
    """
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=MODE)
    found = folder.lstat()
    around = folder.parent.stat()
    if not stat.S_ISDIR(found.st_mode):
        what = "it is no folder"
    elif found.st_uid != os.geteuid():
        what = f"the user with id {found.st_uid} made it"
    elif found.st_mode & OTHERS_WRITE:
        what = "others may write to it"
    elif around.st_mode & stat.S_IWOTH and not around.st_mode & stat.S_ISVTX:
        what = f"everybody may exchange what lies in {folder.parent}, which is not sticky"
    else:
        return folder
    raise SandboxUnavailableError(f"{folder} can't be trusted: {what}", REMEDY)


def is_own(folder: Path) -> bool:
    """Whether this user made what lies there."""
    try:
        return folder.lstat().st_uid == os.geteuid()
    except OSError:
        return False


@contextlib.contextmanager
def empty_folder(above: Path) -> Iterator[str]:
    """The name of an empty folder below the server's own, until the block ends.

    Boxes show it in the place of a project that a program is not to see.

    Raises:
        SandboxUnavailableError, OSError: see `own`.
    """
    folder = Path(tempfile.mkdtemp(dir=own(above)))
    os.chmod(folder, 0o755)  # noqa: S103 - it is empty
    try:
        yield folder.name
    finally:
        folder.rmdir()
