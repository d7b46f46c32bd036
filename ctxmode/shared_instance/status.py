"""The shared instances of a storage folder as other commands see them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from base.locks import POLL_S, is_held

END_S_MAX = 5.0


def list_processes(state_dir: Path) -> list[int]:
    """List the processes of the instances, of all versions."""
    return [process for _, process in _list_held(state_dir)]


def end_instances(state_dir: Path) -> list[int]:
    """Ask all instances to end, and wait until they take no more requests; return their processes.
    Active runs go on to their end, and servers of agents by themselves."""
    found = list(_list_held(state_dir))
    for _, process in found:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
    until = time.monotonic() + END_S_MAX
    while any(_is_held(lock) for lock, _ in found) and time.monotonic() < until:
        time.sleep(POLL_S)
    return [process for _, process in found]


def _list_held(state_dir: Path) -> Iterator[tuple[Path, int]]:
    for lock in sorted((state_dir / "shared").glob("*.lock")):
        if _is_held(lock) and (text := lock.read_text("ascii")).isdecimal():
            yield lock, int(text)


def _is_held(lock: Path) -> bool:
    with suppress(OSError):
        return is_held(lock)
    return False
