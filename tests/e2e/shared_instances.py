"""The shared instance of one place, for tests that use it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from ctxmode.shared_instance.status import list_processes
from tests.e2e.conftest import Place

START_S_MAX = 60.0
_START = "from ctxmode.shared_instance import client; client.start()"


def wait_until(is_true, s_max=START_S_MAX) -> None:
    """Wait for a condition."""
    until = time.monotonic() + s_max
    while not is_true():
        assert time.monotonic() < until
        time.sleep(0.02)


def list_servers(process: int) -> list[int]:
    """The forks of an instance that live."""
    with open(f"/proc/{process}/task/{process}/children") as file:
        return [int(child) for child in file.read().split()]


@contextlib.contextmanager
def open_instance(place: Place) -> Iterator[tuple[Place, int]]:
    """Start the instance of a place; give the place whose commands use it, and the process."""
    using = replace(place, shared="auto")
    start = [sys.executable, *place.command[1:-1], "-c", _START]
    if place.command[1:2] == ("-m",):
        start = [sys.executable, "-c", _START]
    subprocess.run(start, env=using.environment, cwd=using.project, check=True, timeout=60)
    state = place.data / "state"
    wait_until(lambda: list((state / "shared").glob("*.sock")))
    (process,) = list_processes(state)
    servers: list[int] = []
    try:
        yield using, process
    finally:
        with contextlib.suppress(OSError):
            servers = list_servers(process)
        for one in (process, *servers):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
