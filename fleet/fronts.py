"""Fronts that share a journal: each has a name, and whether one lives is seen by its lock."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from base.locks import hold_lock, is_held


@contextlib.contextmanager
def join_fronts(folder: Path) -> Iterator[str]:
    """Be one of the fronts of a folder for a block; the name of this one.

    Raises:
        OSError: the folder can't be written.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = f"{os.getpid()}-{secrets.token_hex(4)}"
    path = _lock_of(folder, name)
    with hold_lock(path):
        try:
            yield name
        finally:
            path.unlink(missing_ok=True)


def is_front_alive(folder: Path, name: str) -> bool:
    """Whether the process of a front lives; the lock that a dead one left is removed."""
    path = _lock_of(folder, name)
    if not path.exists():
        return False
    if is_held(path):
        return True
    path.unlink(missing_ok=True)
    return False


def _lock_of(folder: Path, name: str) -> Path:
    return folder / f"{os.path.basename(name)}.lock"
