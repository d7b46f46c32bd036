"""What it costs to be told of refusals: `python -m benchmarks.refusals [--rounds N] [--json]`.

The same programs in two executors that take turns within one run: one as it is, and one whose
filter refuses in the kernel, tells nobody of connections and has no name server. Then, in the
first, what one connection and one denied call take; in the second the same without a notice.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import trio

from benchmarks.report import Report, Row, argument_parser, opened, show, summary
from executor import LocalEngine, Request, Settings
from executor.cells.description import CellSpec
from executor.cells.placement import Placement
from executor.engine import seccomp
from executor.profile import ProjectAccess

BAR = 1.02
ROUNDS = 60
CALLS = 20_000
CONNECTS = 2_000
DENIED = f"""
import ctypes, time
libc = ctypes.CDLL(None)
began = time.perf_counter()
for _ in range({CALLS}):
    libc.syscall(165, 0, 0, 0, 0, 0)
print((time.perf_counter() - began) / {CALLS} * 1e6)
"""
CONNECT = f"""
import socket, time
server = socket.create_server(("127.0.0.1", 0), backlog=4096)
at = server.getsockname()
began = time.perf_counter()
for _ in range({CONNECTS}):
    client = socket.socket(); client.connect(at); client.close()
print((time.perf_counter() - began) / {CONNECTS} * 1e6)
"""
LOOK_UP = """
import socket, time
began = time.perf_counter()
for number in range(200):
    try: socket.getaddrinfo(f"host{number}.example.com", 443)
    except OSError: pass
print((time.perf_counter() - began) / 200 * 1e6)
"""
RUNS = {
    "shell, one word": ("shell", "echo word"),
    "python, one word": ("python", "print('word')"),
    "javascript, one word": ("javascript", "console.log('word')"),
    "shell, 40 processes": ("shell", "for n in $(seq 40); do /bin/true; done"),
    "python, a server of its own": (
        "python",
        "import socket\ns = socket.create_server(('127.0.0.1', 0))\n"
        "for _ in range(20): socket.create_connection(s.getsockname()).close()",
    ),
}
CALL_COSTS = {"a denied call": DENIED, "a connection": CONNECT, "a name": LOOK_UP}


class Untold(Placement):
    """Cells whose supervisor hears of nothing that is refused."""

    def cell(self, *args: Any, **named: Any) -> CellSpec:  # noqa: ANN401 - as the whole one takes
        spec = super().cell(*args, **named)
        renames = spec.access in {ProjectAccess.COPY_ON_WRITE, ProjectAccess.COMMIT}
        exits = spec.heavy_notices != spec.notices
        return replace(
            spec,
            told=None,
            names=False,
            notices=seccomp.notices(renames=renames),
            heavy_notices=seccomp.notices(exits=exits, renames=renames),
        )


def untell(executor: LocalEngine) -> None:
    """Let the next cells of an executor be without notices."""
    pool: Any = executor._pool
    whole: Placement = pool._placement
    pool._placement = Untold(**{each.name: getattr(whole, each.name) for each in fields(whole)})


async def run(executor: LocalEngine, language: str, code: str) -> tuple[float, str]:
    """How long a run took, in seconds, and what it printed."""
    began = time.perf_counter()
    result = (await executor.run(Request(language, code))).result
    took = time.perf_counter() - began
    if not result.ok:
        raise RuntimeError(f"{result.status} {result.message} {result.stderr.text}")
    return took, result.stdout.text


async def measure(rounds: int) -> Report:
    report = Report("refusals")
    async with contextlib.AsyncExitStack() as stack:
        # What waits for its run comes out of one budget of memory, which one side would use up.
        settings = Settings(prewarm=False)
        told = await stack.enter_async_context(opened(settings=settings))
        untold = await stack.enter_async_context(opened(settings=settings))
        untell(untold)
        sides = (told, untold)
        for name, (language, code) in RUNS.items():
            took: tuple[list[float], list[float]] = ([], [])
            for number in range(rounds + 2):
                order = (0, 1) if number % 2 else (1, 0)
                for side in order:
                    seconds, _ = await run(sides[side], language, code)
                    if number > 1:
                        took[side].append(seconds)
            report.add(Row(name, summary(took[0]), summary(took[1]), BAR))
            pairs = [one / other for one, other in zip(*took, strict=True)]
            report.figures[f"percent of {name}, median of pairs"] = statistics.median(pairs) * 100
            report.figures[f"percent of {name}, least"] = min(took[0]) / min(took[1]) * 100
        for name, code in CALL_COSTS.items():
            for executor, words in zip(sides, ("", ", untold"), strict=True):
                costs = [float((await run(executor, "python", code))[1]) for _ in range(3)]
                report.figures[f"us of {name}{words}"] = sorted(costs)[1]
    return report


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args(argv)
    show(trio.run(measure, args.rounds), as_json=args.json)


if __name__ == "__main__":
    main()
