"""One server among several of a user: its ID, lock and folder; cleanup after dead servers."""

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

from base.locks import hold_lock, is_held
from executor.model import SandboxUnavailableError

SECONDS_MAX = 60.0
SYSTEM_PATH = "/usr/bin:/bin"


def remove(folder: Path) -> None:
    """Remove `folder`, except content that this user may not remove.

    Uses `rm`, which walks any depth: a program can nest deeper than Python can recurse.
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


MODE = 0o711  # a root server's cells run as another user, and reach their folders
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
REMEDY = "Set TMPDIR to a folder that only you can write to, and start again."


def own_folder(folder: Path) -> Path:
    """Return `folder`; make it if a cleanup of the temporary directory removed it.

    Any user who has seen its name could have made it, or a link of that name, in the meantime.

    Raises:
        SandboxUnavailableError: it belongs to another user, is not a folder, or is open to others.
        OSError: it can't be made.
    """
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=MODE)
    found = folder.lstat()
    around = folder.parent.stat()
    if not stat.S_ISDIR(found.st_mode):
        what = "it is not a folder"
    elif found.st_uid != os.geteuid():
        what = f"the user with id {found.st_uid} made it"
    elif found.st_mode & OTHERS_WRITE:
        what = "others may write to it"
    elif around.st_mode & stat.S_IWOTH and not around.st_mode & stat.S_ISVTX:
        what = f"all users may replace files in {folder.parent}, which is not sticky"
    else:
        return folder
    raise SandboxUnavailableError(f"cannot use {folder}: {what}", REMEDY)


def is_own_folder(folder: Path) -> bool:
    """Return whether this user made the folder."""
    try:
        return folder.lstat().st_uid == os.geteuid()
    except OSError:
        return False


@contextlib.contextmanager
def empty_folder(above: Path) -> Iterator[str]:
    """Yield the name of an empty folder below `above`, and remove it when the block ends.

    Boxes show it instead of a project that a program may not see.

    Raises:
        SandboxUnavailableError, OSError: see `own_folder`.
    """
    folder = Path(tempfile.mkdtemp(dir=own_folder(above)))
    os.chmod(folder, 0o755)  # noqa: S103 - it is empty
    try:
        yield folder.name
    finally:
        folder.rmdir()


# Held only while an instance is made or others are swept: a lock file that is made but not yet
# locked would look like a dead server's.
REGISTRY_LOCK = "registry.lock"
NOTES = (".sock", ".prewarm")  # files next to a lock: see `control` and `budget`


@dataclass(frozen=True, slots=True)
class Instance:
    """The lock and folders of a living server. Everything it makes carries its ID."""

    id: str
    folder: Path
    _lock: int

    @property
    def socket(self) -> Path:
        """Return the path of the socket for other processes of the user."""
        return self.folder / f"{self.id}.sock"

    @property
    def temporary(self) -> Path:
        """Return a folder for temporary files on the host; its first user makes it."""
        return Path(os.path.realpath(tempfile.gettempdir())) / f"ctxmode-{self.id}"

    def remember(self, made: Iterable[Path]) -> None:
        """Record the folders that the next server must remove if this one is killed."""
        text = json.dumps([str(path) for path in made]).encode()
        os.pwrite(self._lock, text, 0)
        os.ftruncate(self._lock, len(text))


@contextlib.contextmanager
def join(folder: Path) -> Iterator[Instance]:
    """Remove what dead instances left, yield a new one, and release its lock when the block ends.

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


def is_alive(folder: Path, identity: str) -> bool:
    """Return whether an instance holds its lock; one whose lock is gone has ended normally."""
    try:
        # An ID may be a label or a row that others wrote.
        return is_held(folder / f"{os.path.basename(identity)}.lock")
    except FileNotFoundError:
        return False
    except OSError:
        return True  # not ours to judge


def sweep(folder: Path) -> list[str]:
    """Remove the files of dead instances, those whose lock is free; return their IDs.

    Only the process of a living instance holds its lock, and the kernel releases it on any death.
    Unreadable notes stay for the user to inspect.
    """
    swept = []
    for path in sorted(folder.glob("*.lock")):
        if path.name == REGISTRY_LOCK:
            continue
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for left in json.loads(path.read_bytes() or b"[]"):
                if left.endswith(path.stem):  # whatever a note lists, only paths with the ID
                    _remove(Path(left))
            for kind in NOTES:
                path.with_suffix(kind).unlink(missing_ok=True)
            path.unlink()
            swept.append(path.stem)
        except (BlockingIOError, ValueError):
            continue  # alive, or an unreadable note
        finally:
            os.close(lock)
    return swept


def _remove(folder: Path) -> None:
    """Remove a folder with its content; of a control group only folders, innermost first."""
    if folder.is_relative_to("/sys/fs/cgroup"):
        for inner, _, _ in os.walk(folder, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(inner)
    elif is_own_folder(folder):
        remove(folder)
