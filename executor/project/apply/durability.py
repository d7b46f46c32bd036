"""Having the disk hold what was written, so that a crash of the machine leaves no empty files.

One syncfs(2) costs some milliseconds, however many files there are; an fdatasync(2) of each costs
as much for every single one.
"""

from __future__ import annotations

import ctypes
import os
import threading

S_MAX = 3.0  # others may have written gigabytes to the same disk


def sync(folder: int) -> bool:
    """Write out the file system of an open folder; whether that was done in time.

    A disk that is slower is not waited for: it goes on with it.
    """
    done = threading.Event()
    try:
        own = os.dup(folder)
    except OSError:
        return False
    threading.Thread(target=_sync, args=(own, done), daemon=True).start()
    return done.wait(S_MAX)


def _sync(folder: int, done: threading.Event) -> None:
    try:
        # Not in the os module; an error of the disk is one of reading later, too.
        ctypes.CDLL(None).syncfs(folder)
        done.set()
    finally:
        os.close(folder)
