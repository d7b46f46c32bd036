"""How soon the program answers: `python -m benchmarks.startup [--rounds N] [--json]`.

Each use in a process of its own, in turn with what it is measured against: an interpreter that does
nothing, and for `initialize` one that imports the protocol's library. Modules are compiled, as in
whatever was installed: PYTHONDONTWRITEBYTECODE, with which each process of a checkout would compile
all it imports, is not handed on, and a first round is thrown away.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from benchmarks.report import Report, Row, argument_parser, show, summary

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "0"},
    },
}


# What Claude Code sends before it runs a command.
HOOK_EVENT = {
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "git status && npm test 2>&1 | tail -20"},
    "cwd": "/",
}


def seconds_of(
    arguments: Sequence[str], environment: Mapping[str, str], stdin: bytes = b""
) -> float:
    """From start to exit of an interpreter with these arguments."""
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        stdout=subprocess.DEVNULL,
        env=dict(environment),
        check=True,
    )
    return time.perf_counter() - started


def until_initialized(environment: Mapping[str, str]) -> float:
    """From the start of a server to its answer to `initialize`."""
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "ctxmode", "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(environment),
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        took = time.perf_counter() - started
        server.stdin.close()
    if "result" not in answer:
        raise RuntimeError(f"the server answered {answer}")
    return took


def measure(rounds: int) -> Report:
    report = Report("startup")
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        environment = {**os.environ, "CONTEXT_MODE_DIR": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = partial(seconds_of, environment=environment)
        nothing = partial(command, ("-c", "pass"))
        module, program = ("-m", "ctxmode"), ("run", "shell", "-c", "true")
        pairs: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {
            "--version": (partial(command, (*module, "--version")), nothing),
            "hook claude-code PreToolUse": (
                partial(
                    command,
                    (*module, "hook", "claude-code", "PreToolUse"),
                    stdin=json.dumps(HOOK_EVENT).encode(),
                ),
                nothing,
            ),
            "run shell -c true": (partial(command, (*module, *program)), nothing),
            "search": (partial(command, (*module, "search", "word")), nothing),
            "initialize": (
                partial(until_initialized, environment),
                partial(command, ("-c", "import mcp.server")),
            ),
        }
        for name, (ours, other) in pairs.items():
            samples = [(ours(), other()) for _ in range(rounds + 1)][1:]
            mine, others = zip(*samples, strict=True)
            report.add(Row(name, summary(mine), summary(others)))
    report.notes = (
        f"{rounds} processes each, in turn with `python -c pass`; initialize with "
        "`python -c 'import mcp.server'`",
    )
    return report


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--rounds", type=int, default=10, metavar="N")
    args = parser.parse_args(argv)
    show(measure(args.rounds), as_json=args.json)


if __name__ == "__main__":
    main()
