"""One commit at a time to each project, whichever process makes it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from base.locks import hold_lock
from executor.project.store.outcome import CommitError

WAIT_S_MAX = 30.0


def key_of(project: Path) -> str:
    """A name for what is stored of a project."""
    return hashlib.sha256(os.fsencode(os.path.realpath(project))).hexdigest()[:16]


@contextmanager
def hold_project(path: Path, wait_s: float = WAIT_S_MAX) -> Iterator[None]:
    """Hold a lock file; the kernel lets go of it when this process dies.

    Raises:
        CommitError: another process held it all the while.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with ExitStack() as held:
        try:
            held.enter_context(hold_lock(path, wait_s))
        except BlockingIOError:
            raise CommitError(
                f"another run's changes were being committed to this project for over "
                f"{WAIT_S_MAX:.0f} s; nothing of this one's is applied",
                "run it again when that is done",
            ) from None
        yield
