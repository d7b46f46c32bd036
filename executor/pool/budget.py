"""How much memory all servers of a user may spend on what is made ahead of its use."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from base.locks import is_held


@dataclass(frozen=True, slots=True)
class SharedBudget:
    """One server's share. What it claims stands in a file beside its lock (see `instance`)."""

    folder: Path
    instance: str
    bytes_max: int

    def claim(self, own: int) -> bool:
        """Note that this server wants `own` bytes in all from now on; False if that is too much.

        Less than before is never too much.

        Raises:
            OSError: the folder can't be written.
        """
        with self._hold_lock():
            if own > self._read_claim(self.instance) and own + self._others() > self.bytes_max:
                return False
            self._file(self.instance).write_text(str(own))
            return True

    def _others(self) -> int:
        names = (path.stem for path in self.folder.glob("*.prewarm"))
        return sum(self._read_claim(name) for name in names if name != self.instance)

    def _read_claim(self, instance: str) -> int:
        """What a living server claims; the dead claim nothing."""
        try:
            if instance != self.instance and not is_held(self.folder / f"{instance}.lock"):
                return 0
            return int(self._file(instance).read_text())
        except (OSError, ValueError):
            return 0

    def _file(self, instance: str) -> Path:
        return self.folder / f"{instance}.prewarm"

    @contextlib.contextmanager
    def _hold_lock(self) -> Iterator[None]:
        """While claims are added up; the folder itself is the lock."""
        lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)
