"""Whole processes: how soon the program answers, beside an interpreter, and beside other programs.

Modules are compiled, as after an installation: PYTHONDONTWRITEBYTECODE is not handed on, and a
first round is not counted.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import Bench, NotMeasuredError, measure

PROGRAM = (sys.executable, "-m", "ctxmode")
NOTHING = (sys.executable, "-c", "pass")
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "0"},
}
# What Claude Code sends before it runs a command.
HOOK_EVENT = {
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "git status && npm test 2>&1 | tail -20"},
    "cwd": "/",
}
START_S_MAX = 60.0


def make_environment(data: Path) -> dict[str, str]:
    """Return the environment of a process that stores its data in a folder."""
    environment = {**os.environ, "CONTEXT_MODE_DIR": str(data)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def read_processors_s(processes: Iterable[int]) -> float:
    """Return the processor time of this process, its ended children, and others that still run."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + sum(os.times()[2:4]) + ticks / os.sysconf("SC_CLK_TCK")


def start(
    words: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path | None = None,
    stdin: bytes = b"",
) -> tuple[float, float]:
    """Run a process that must succeed, and whose output is thrown away. Return its seconds by the
    clock, and of the processor."""
    began = time.perf_counter()
    process = subprocess.Popen(
        list(words),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(environment),
        cwd=cwd,
    )
    assert process.stdin is not None
    process.stdin.write(stdin)
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{shlex.join(words)} ended with {process.returncode}")
    return took, usage.ru_utime + usage.ru_stime


@dataclass(slots=True)
class Client:
    """A client of the protocol, the smallest that works, and its server's process."""

    process: subprocess.Popen[bytes]
    _last: int = field(default=0)

    def ask(self, method: str, params: Any) -> Any:  # noqa: ANN401 - JSON
        """Send a request; return its result."""
        self._last += 1
        self.tell({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self._last and "method" not in message:
                return message["result"]
        raise RuntimeError(f"{self.process.args!r} ended")

    def tell(self, message: Any) -> None:  # noqa: ANN401 - JSON
        """Send a message that is not answered."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, tool: str, **arguments: str) -> float:
        """Return the seconds of one call of a tool, which must succeed."""
        began = time.perf_counter()
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        took = time.perf_counter() - began
        if result.get("isError"):
            raise RuntimeError(str(result))
        return took

    def resident_mib(self) -> float:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / (1 << 20)


@contextmanager
def connect(
    command: Sequence[str], environment: Mapping[str, str], cwd: Path | None = None
) -> Iterator[Client]:
    """Start a server, begin the session, and end both."""
    process = subprocess.Popen(
        list(command),
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(environment),
    )
    client = Client(process)
    try:
        client.ask("initialize", HELLO)
        client.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield client
    finally:
        process.communicate(timeout=START_S_MAX)


@measure(10)
async def startup(bench: Bench) -> None:
    """Measure the program's usual uses, beside an interpreter that does nothing."""
    environment = make_environment(bench.folder)
    hook = (json.dumps(HOOK_EVENT)).encode()
    uses: dict[str, tuple[tuple[str, ...], bytes]] = {
        "--version": (("--version",), b""),
        "hook claude-code PreToolUse": (("hook", "claude-code", "PreToolUse"), hook),
        "run shell -c true": (("run", "shell", "-c", "true"), b""),
        "run python -c 'print(1)'": (("run", "python", "-c", "print(1)"), b""),
        "search word": (("search", "word"), b""),
    }

    def seconds(words: Sequence[str], stdin: bytes = b"") -> float:
        return start(words, environment, stdin=stdin)[0]

    bare = partial(seconds, NOTHING)
    for name, (words, stdin) in uses.items():
        ours = partial(seconds, (*PROGRAM, *words), stdin)
        await bench.time_sides(name, ours, "python -c pass", bare)
    imports = partial(seconds, (sys.executable, "-c", "import mcp.server"))

    def initialize() -> float:
        began = time.perf_counter()
        with connect((*PROGRAM, "serve"), environment):
            return time.perf_counter() - began

    await bench.time_sides("initialize", initialize, "python -c 'import mcp.server'", imports)


@measure(20, is_long=True)
async def beside(bench: Bench) -> None:
    """Measure servers and sandboxes that are named, each in turn with this program."""
    environment = make_environment(bench.folder)
    run = (*PROGRAM, "run", "shell", "-c", "echo hi")
    servers, programs = (bench.options.get(name, "") for name in ("server", "program"))
    if not servers and not programs:
        raise NotMeasuredError("needs --with server=COMMAND or --with program=COMMAND")
    for other in filter(None, servers.split(";")):
        pairs = [
            (_answers((*PROGRAM, "serve"), environment), _answers(shlex.split(other), environment))
            for _ in range(bench.rounds + 1)
        ][1:]
        for what in pairs[0][0]:
            mine, others = ([side[what] for side in sides] for sides in zip(*pairs, strict=True))
            bench.times(what, mine, f"`{other.strip()}`", others)
    for other in filter(None, programs.split(";")):
        theirs = partial(start, shlex.split(other), environment)
        name = "a process that says one word"
        await bench.time_sides(name, partial(start, run, environment), f"`{other.strip()}`", theirs)


def _answers(command: Sequence[str], environment: Mapping[str, str]) -> dict[str, float]:
    """Return the seconds from a server's start to each of its first answers."""
    began = time.perf_counter()
    with connect(command, environment) as client:
        times = {"initialize": time.perf_counter() - began}
        client.ask("tools/list", {})
        times["tools/list"] = time.perf_counter() - began
        client.call("ctx_execute", language="shell", code="echo hi")
        times["a first call"] = time.perf_counter() - began
        return times
