"""One server among several of the same user: its id, its lock, and what dead ones left behind."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from base.locks import hold_lock
from executor.instance import temporary
from executor.instance.temporary import remove

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
    elif temporary.is_own(folder):
        remove(folder)
