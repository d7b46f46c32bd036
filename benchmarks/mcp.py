"""What the protocol adds to a run: `python -m benchmarks.mcp [--rounds N] [--json]`.

A server answers calls of `ctx_execute` over its pipe, in turn with runs of the same command line
through an executor of this process. What the idle server holds in memory is told, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio

from benchmarks.report import Report, Row, argument_parser, opened, show, summary
from benchmarks.startup import INITIALIZE
from executor import Request

IDLE_S = 3.0


class Client:
    """The least that speaks the protocol."""

    def __init__(self, server: subprocess.Popen[bytes]) -> None:
        self.server = server
        self._last = 0

    def ask(self, method: str, params: Any) -> Any:  # noqa: ANN401 - JSON
        self._last += 1
        self.tell({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        assert self.server.stdout is not None
        while True:
            message = json.loads(self.server.stdout.readline())
            if message.get("id") == self._last and "method" not in message:
                return message["result"]

    def tell(self, message: Any) -> None:  # noqa: ANN401 - JSON
        assert self.server.stdin is not None
        self.server.stdin.write(json.dumps(message).encode() + b"\n")
        self.server.stdin.flush()

    def run(self) -> float:
        """Seconds of one call that runs `true`."""
        started = time.perf_counter()
        arguments = {"language": "shell", "code": "true"}
        result = self.ask("tools/call", {"name": "ctx_execute", "arguments": arguments})
        took = time.perf_counter() - started
        if result.get("isError"):
            raise RuntimeError(str(result))
        return took

    def resident_mib(self) -> float:
        pages = int(Path(f"/proc/{self.server.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / (1 << 20)


@contextmanager
def server() -> Iterator[Client]:
    """A server of an empty project, ready for calls."""
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        project = Path(folder, "project")
        project.mkdir()
        command = [sys.executable, "-m", "ctxmode", "serve", "--project", str(project)]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "CONTEXT_MODE_DIR": str(Path(folder, "data"))},
        ) as process:
            client = Client(process)
            client.ask("initialize", INITIALIZE["params"])
            client.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
            yield client
            assert process.stdin is not None
            process.stdin.close()


async def measure(rounds: int) -> Report:
    report = Report("mcp")
    with server() as client:
        async with opened() as executor:
            ours, direct = [], []
            for number in range(rounds + 5):
                call = client.run()
                started = time.perf_counter()
                await executor.run(Request("shell", "true"))
                if number >= 5:  # the first ones prove the shell, and fill what waits
                    ours.append(call)
                    direct.append(time.perf_counter() - started)
                await trio.sleep(0.05)
        time.sleep(IDLE_S)
        report.figures = {"idle_server_resident_mib": client.resident_mib()}
    report.add(Row("ctx_execute", summary(ours), summary(direct), bar_ms=3))
    report.notes = (f"{rounds} calls, in turn with the same run through an executor",)
    return report


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--rounds", type=int, default=50, metavar="N")
    args = parser.parse_args(argv)
    show(trio.run(measure, args.rounds), as_json=args.json)


if __name__ == "__main__":
    main()
