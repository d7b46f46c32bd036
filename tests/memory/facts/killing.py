"""Processes of a test that are killed at one of the statements of their store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from memory.facts.store import FactStore

KILLED = -signal.SIGKILL


def kill_at(store: FactStore, statement: int) -> None:
    """Have this process killed when it comes to a statement, by its number from 1."""
    left = statement

    def count(_: str) -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    with store.database.exclusively() as db:
        db.set_trace_callback(count)


def run_script(script: str, *arguments: str) -> int:
    """Run a script in a process of its own, and return how it ended."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=Path(__file__).parents[3],
        timeout=60,
        check=False,
    ).returncode
