"""What the protocol adds to a run: `python -m benchmarks.mcp [--rounds N] [--json]`.

A server answers calls of `ctx_execute` over its pipe, in turn with runs of the same command line
through an executor of this process that asks the same rules, and with calls of a server that is
nothing but the protocol's library, its own transport and a tool that does nothing: what no server
can be faster than that uses them. What the idle server holds in memory is told, too.
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
WARM_UP = 5
"""Calls that are not counted: they prove the shell, and fill what waits."""

NOTHING = """
import mcp.types, trio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def tools(context, params):
    return mcp.types.ListToolsResult(tools=[])

async def call(context, params):
    return mcp.types.CallToolResult(content=[mcp.types.TextContent(type="text", text="")])

async def main():
    server = Server("nothing", on_list_tools=tools, on_call_tool=call)
    async with stdio_server() as streams:
        await server.run(*streams, server.create_initialization_options())

trio.run(main)
"""


class Client:
    """The least that speaks the protocol."""

    def __init__(self, server: subprocess.Popen[bytes], data: Path) -> None:
        self.server = server
        self.data = data
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

    def call(self, tool: str, **arguments: str) -> float:
        """Seconds of one call."""
        started = time.perf_counter()
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        took = time.perf_counter() - started
        if result.get("isError"):
            raise RuntimeError(str(result))
        return took

    def resident_mib(self) -> float:
        pages = int(Path(f"/proc/{self.server.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / (1 << 20)


@contextmanager
def server(*arguments: str) -> Iterator[Client]:
    """What an interpreter with these arguments serves, in an empty project, ready for calls."""
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        project = Path(folder, "project")
        project.mkdir()
        with subprocess.Popen(
            [sys.executable, *arguments],
            cwd=project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={
                **os.environ,
                "CONTEXT_MODE_DIR": str(Path(folder, "data")),
                "CONTEXT_MODE_PROJECT_DIR": str(project),
            },
        ) as process:
            client = Client(process, Path(folder, "data"))
            client.ask("initialize", INITIALIZE["params"])
            client.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
            yield client
            assert process.stdin is not None
            process.stdin.close()


async def measure(rounds: int) -> Report:
    report = Report("mcp")
    ours: list[float] = []
    nothing: list[float] = []
    direct: list[float] = []
    with server("-m", "ctxmode", "serve") as client, server("-c", NOTHING) as bare:
        async with opened(has_rules=True) as executor:
            for _ in range(rounds + WARM_UP):
                ours.append(client.call("ctx_execute", language="shell", code="true"))
                nothing.append(bare.call("nothing"))
                started = time.perf_counter()
                await executor.run(Request("shell", "true"))
                direct.append(time.perf_counter() - started)
                await trio.sleep(0.05)
        time.sleep(IDLE_S)
        report.figures = {"idle_server_resident_mib": client.resident_mib()}
    run = summary(direct[WARM_UP:])
    report.add(Row("ctx_execute", summary(ours[WARM_UP:]), run, bar_ms=1))
    report.add(Row("a tool that does nothing", summary(nothing[WARM_UP:])))
    report.notes = (
        f"{rounds} calls, in turn with the same run through an executor, and with an empty call",
    )
    return report


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--rounds", type=int, default=50, metavar="N")
    args = parser.parse_args(argv)
    show(trio.run(measure, args.rounds), as_json=args.json)


if __name__ == "__main__":
    main()
