"""Other programs in turn with this one: `python -m benchmarks.beside --server CMD --program CMD`.

`--server` is the command line of another MCP server over stdio that serves `ctx_execute`: measured
are the times from its start to its first answers. `--program` is the command line of another
sandbox that says one word: measured is the whole process. Both may be given several times.
Processes start as a user starts them, PYTHONDONTWRITEBYTECODE apart.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.report import Report, Row, argument_parser, show, summary
from benchmarks.startup import INITIALIZE

HELLO: Any = INITIALIZE["params"]
CALL = {"name": "ctx_execute", "arguments": {"language": "shell", "code": "echo hi"}}
REQUESTS: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    ("initialize", "initialize", HELLO),
    ("tools/list", "tools/list", {}),
    ("a first call", "tools/call", CALL),
)
START_S_MAX = 60.0


def until_answered(command: Sequence[str], environment: Mapping[str, str]) -> dict[str, float]:
    """Seconds from a server's start to each of its answers."""
    times: dict[str, float] = {}
    started = time.perf_counter()
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(environment),
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number, (name, method, params) in enumerate(REQUESTS):
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            print(json.dumps(request), file=server.stdin, flush=True)
            answer = next(line for line in server.stdout if f'"id":{number}' in line)
            if '"result"' not in answer:
                raise RuntimeError(f"{shlex.join(command)} answered {answer}")
            times[name] = time.perf_counter() - started
            if method == "initialize":
                print('{"jsonrpc":"2.0","method":"notifications/initialized"}', file=server.stdin)
        server.stdin.close()
        server.wait(START_S_MAX)
    return times


def until_ended(command: Sequence[str], environment: Mapping[str, str]) -> dict[str, float]:
    """Seconds of a whole process, which must succeed."""
    started = time.perf_counter()
    subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(environment),
        check=True,
        timeout=START_S_MAX,
    )
    return {"says one word": time.perf_counter() - started}


def measure(servers: Sequence[str], programs: Sequence[str], rounds: int) -> Report:
    report = Report("beside")
    module = (sys.executable, "-m", "ctxmode")
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        environment = {**os.environ, "CONTEXT_MODE_DIR": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        serve = partial(until_answered, (*module, "serve"), environment)
        run = partial(until_ended, (*module, "run", "shell", "-c", "echo hi"), environment)
        for other in servers:
            _compare(
                report,
                other,
                serve,
                partial(until_answered, shlex.split(other), environment),
                rounds,
            )
        for other in programs:
            _compare(
                report, other, run, partial(until_ended, shlex.split(other), environment), rounds
            )
    report.notes = (f"{rounds} processes each, in turn",)
    return report


def _compare(
    report: Report,
    name: str,
    ours: Callable[[], dict[str, float]],
    other: Callable[[], dict[str, float]],
    rounds: int,
) -> None:
    """Add a row for each time; the first round, which compiles modules, is thrown away."""
    pairs = [(ours(), other()) for _ in range(rounds + 1)][1:]
    for what in pairs[0][0]:
        mine, others = ([side[what] for side in sides] for sides in zip(*pairs, strict=True))
        report.add(Row(f"{what}, beside `{name}`", summary(mine), summary(others)))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--rounds", type=int, default=20, metavar="N")
    parser.add_argument("--server", action="append", default=[], metavar="CMD")
    parser.add_argument("--program", action="append", default=[], metavar="CMD")
    args = parser.parse_args(argv)
    if not args.server and not args.program:
        parser.error("nothing to compare with: give --server or --program")
    show(measure(args.server, args.program, args.rounds), as_json=args.json)


if __name__ == "__main__":
    main()
