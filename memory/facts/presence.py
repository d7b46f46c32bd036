"""Who has a file of facts open: any number of stores at once, or one restore alone.

A file that SQLite has open must not give its place to another: whoever opened it before would write
into the other's log. So each store holds a lock beside the file, and a restore waits for them all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from base.locks import POLL_S, hold_lock, is_held
from memory.errors import StoreUnavailableError

if TYPE_CHECKING:
    from base.plain_files import StrPath

_LOCK = ".lock"
_GATE = ".restoring"
"""Held while a restore waits for those who have the file open, so that no more come."""


@contextmanager
def share_file(path: StrPath, wait_s: float) -> Iterator[None]:
    """Have a file open beside others. Where no lock can be made, as in a folder that is only read,
    there is none.

    Raises:
        StoreUnavailableError: a restore takes longer than `wait_s`.
    """
    deadline = time.monotonic() + wait_s
    while _is_closed(f"{os.fspath(path)}{_GATE}"):
        if time.monotonic() >= deadline:
            raise _say_restored(path)
        time.sleep(POLL_S)
    with ExitStack() as held:
        try:
            left_s = max(deadline - time.monotonic(), 0.0)
            lock = hold_lock(f"{os.fspath(path)}{_LOCK}", left_s, is_shared=True)
            held.enter_context(lock)
        except BlockingIOError as error:
            raise _say_restored(path) from error
        except OSError:
            pass
        yield


@contextmanager
def own_file(path: StrPath, wait_s: float) -> Iterator[None]:
    """Wait until nobody has a file open, and let nobody open it meanwhile.

    Raises:
        OSError: no lock can be made.
        StoreUnavailableError: others have it open for longer than `wait_s`.
    """
    gate = Path(f"{os.fspath(path)}{_GATE}")
    try:
        with ExitStack() as held:
            held.enter_context(hold_lock(gate, wait_s))
            held.callback(gate.unlink, missing_ok=True)
            held.enter_context(hold_lock(f"{os.fspath(path)}{_LOCK}", wait_s))
            yield
    except BlockingIOError as error:
        raise StoreUnavailableError(
            f"{path} is open in another process, and nothing was restored",
            "Wait for what uses the facts, or end it, and try again.",
        ) from error


def _is_closed(gate: str) -> bool:
    try:
        return is_held(gate)
    except OSError:
        return False


def _say_restored(path: StrPath) -> StoreUnavailableError:
    return StoreUnavailableError(f"{path} is being restored", "Try again when that is done.")
