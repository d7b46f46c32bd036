"""The shared instance of one place, for tests that use it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from ctxmode.shared_instance.processes import list_processes
from tests.e2e.conftest import Place

START_S_MAX = 60.0
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
_START = """
import time
from ctxmode.shared_instance import client
while not client.is_reachable():
    client.start()
    time.sleep(0.05)
"""


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
    start = [sys.executable, "-P", "-c", _START]
    environment = using.environment
    subprocess.run(start, env=environment, cwd=using.project, check=True, timeout=START_S_MAX)
    (process,) = list_processes(place.data / "state")
    servers: list[int] = []
    try:
        yield using, process
    finally:
        with contextlib.suppress(OSError):
            servers = list_servers(process)
        for one in (process, *servers):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)


class Agent:
    """A client of a server over stdio, which it starts; it asks one question after another."""

    def __init__(self, place: Place) -> None:
        self._process = subprocess.Popen(
            [*place.command, "serve"],
            cwd=place.project,
            env=place.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._number = 0

    def __enter__(self) -> "Agent":
        self._ask("initialize", HELLO)
        self._tell({"method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(60)

    def _tell(self, message) -> None:
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def _ask(self, method, params):
        self._number += 1
        self._tell({"id": self._number, "method": method, "params": params})
        while True:
            answer = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._number:
                return answer

    def call(self, tool, **arguments) -> str:
        """The text of a call's answer, or of its error."""
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if "error" in answer:
            return answer["error"]["message"]
        return "\n".join(part["text"] for part in answer["result"]["content"])

    def run(self, code, **arguments) -> str:
        """What a Python program prints, or all of an answer that is not one line."""
        text = self.call("ctx_execute", language="python", code=code, **arguments)
        first, _, rest = text.partition("\n[ok, ")
        return first if rest else text
