"""Who has a file of what is remembered open: any number of stores at once, or one restore alone.

A file that SQLite has open must not give its place to another: whoever opened it before would write
into the other's log. So each store holds a lock, and a restore waits for them all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from base.locks import POLL_S, hold_lock, is_held
from memory.errors import StoreUnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:  # a hook's start imports this module
    from base.plain_files import StrPath

FOLDER = "snapshots"
"""Return the folder of a file's copies, next to it."""

_LOCK = ".lock"
_GATE = ".restoring"
"""Held while a restore waits for those who have the file open, so that no more come."""


def name_lock(path: StrPath) -> str:
    """Name the lock of a file among its copies, so that none lies beside the file."""
    folder, name = os.path.split(os.fspath(path))
    return os.path.join(folder, FOLDER, name)


@contextmanager
def share_file(path: StrPath, wait_s: float, *, at: StrPath = "") -> Iterator[None]:
    """Have a file open beside others. The lock's name is that of the file, or `at`. Where it cannot
    be made, as in a folder that is missing or only read, there is none.

    Raises:
        StoreUnavailableError: a restore takes longer than `wait_s`.
    """
    deadline, name = time.monotonic() + wait_s, os.fspath(at or path)
    while _is_closed(f"{name}{_GATE}"):
        if time.monotonic() >= deadline:
            raise _say_restored(path)
        time.sleep(POLL_S)
    with ExitStack() as held:
        try:
            left_s = max(deadline - time.monotonic(), 0.0)
            lock = hold_lock(f"{name}{_LOCK}", left_s, is_shared=True)
            held.enter_context(lock)
        except BlockingIOError as error:
            raise _say_restored(path) from error
        except OSError:
            pass
        yield


@contextmanager
def own_file(path: StrPath, wait_s: float, *, at: StrPath = "") -> Iterator[None]:
    """Wait until nobody has a file open, and let nobody open it meanwhile. The lock is as in
    `share_file`.

    Raises:
        OSError: no lock can be made.
        StoreUnavailableError: others have it open for longer than `wait_s`.
    """
    name = os.fspath(at or path)
    gate = f"{name}{_GATE}"
    try:
        with ExitStack() as held:
            held.enter_context(hold_lock(gate, wait_s))
            held.callback(_unlink, gate)
            held.enter_context(hold_lock(f"{name}{_LOCK}", wait_s))
            yield
    except BlockingIOError as error:
        raise StoreUnavailableError(
            f"{path} is open in another process, and nothing was restored",
            "Wait for what uses it, or end that, and try again.",
        ) from error


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _is_closed(gate: str) -> bool:
    try:
        return is_held(gate)
    except OSError:
        return False


def _say_restored(path: StrPath) -> StoreUnavailableError:
    return StoreUnavailableError(f"{path} is being restored", "Try again when that is done.")
