"""One server among several of a user: its id, lock and folder, and what dead ones left behind."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from base.locks import hold_lock
from executor.model import SandboxUnavailableError

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


def own_folder(folder: Path) -> Path:
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


def is_own_folder(folder: Path) -> bool:
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
    folder = Path(tempfile.mkdtemp(dir=own_folder(above)))
    os.chmod(folder, 0o755)  # noqa: S103 - it is empty
    try:
        yield folder.name
    finally:
        folder.rmdir()


# Held only while an instance is being made or others are being swept: between making a lock file
# and locking it, it would look like a dead server's.
REGISTRY_LOCK = "registry.lock"
NOTES = (".sock", ".prewarm")  # what lies beside a lock: see `control` and `budget`


@dataclass(frozen=True, slots=True)
class Instance:
    """A living server's place among the others. Everything it makes carries its id."""

    id: str
    folder: Path
    _lock: int

    @property
    def socket(self) -> Path:
        """Where other processes of the user may ask this server what it does."""
        return self.folder / f"{self.id}.sock"

    @property
    def temporary(self) -> Path:
        """A folder for what has to lie on the host while it runs; made by who needs it."""
        return Path(os.path.realpath(tempfile.gettempdir())) / f"ctxmode-{self.id}"

    def remember(self, made: Iterable[Path]) -> None:
        """Note which folders the next server has to remove should this one be killed."""
        text = json.dumps([str(path) for path in made]).encode()
        os.pwrite(self._lock, text, 0)
        os.ftruncate(self._lock, len(text))


@contextlib.contextmanager
def join(folder: Path) -> Iterator[Instance]:
    """A new instance, once what dead ones left is swept; its lock is free again afterwards.

    Raises:
        OSError: the folder can't be written.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with hold_lock(folder / REGISTRY_LOCK):
        sweep(folder)
        identity = f"{os.getpid()}-{secrets.token_hex(4)}"
        path = folder / f"{identity}.lock"
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield Instance(identity, folder, lock)
    finally:
        path.unlink(missing_ok=True)
        for kind in NOTES:
            path.with_suffix(kind).unlink(missing_ok=True)
        os.close(lock)


def sweep(folder: Path) -> list[str]:
    """Remove what instances left whose lock is free, and nothing else; their ids.

    The lock of a living instance is held by its process and by nobody after its death, however
    it died. Unreadable notes are left for a person to look at.
    """
    swept = []
    for path in sorted(folder.glob("*.lock")):
        if path.name == REGISTRY_LOCK:
            continue
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for left in json.loads(path.read_bytes() or b"[]"):
                if left.endswith(path.stem):  # whatever a note says, only what bears the id
                    _remove(Path(left))
            for kind in NOTES:
                path.with_suffix(kind).unlink(missing_ok=True)
            path.unlink()
            swept.append(path.stem)
        except (BlockingIOError, ValueError):
            continue  # alive, or not ours to judge
        finally:
            os.close(lock)
    return swept


def _remove(folder: Path) -> None:
    """A folder with all in it. Of a control group only folders can be removed, innermost first."""
    if folder.is_relative_to("/sys/fs/cgroup"):
        for inner, _, _ in os.walk(folder, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(inner)
    elif is_own_folder(folder):
        remove(folder)
