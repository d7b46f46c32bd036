"""How late a large output is answered: `python -m benchmarks.large_output [--mib N] [--json]`.

A program prints so many MiB of log lines, of JSON, or of one line, and a server answers the call of
`ctx_execute`; beside it the same program through an executor alone, which keeps nothing. Then
another one while the first is still being indexed; the same command once more, which supersedes
what the first one left; and the same by `context-mode run` with its output thrown away. OnProgress
besides: how long the indexing behind the answers goes on, and what the server holds in memory at
most.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import trio

from benchmarks.mcp import Client, server
from benchmarks.report import Report, Row, argument_parser, opened, show, summary
from executor import Request

SHAPES = {
    "log": "l = ''.join('2024-05-01 10:%02d:%02d host%d app[%d]: request /api/item%d took %d ms\\n'"
    " % (i // 60 % 60, i % 60, i % 7, i % 997, i * 7919 % 100003, i % 613) for i in range(16000))",
    "json": "import json; l = '\\n'.join(json.dumps({'id': i, 'name': 'record %d' % i,"
    " 'tags': ['a', 'b%d' % (i % 91)]}) + ',' for i in range(16000))",
    "line": "l = ''.join('word%d ' % (i * 7919 % 100003) for i in range(100000))",
}
PRINTS = {"log": "{}", "json": "'[' + {} + '0]'", "line": "{}"}
LIMIT = 64 << 20
QUEUE_S_MAX = 600


def program(shape: str, size: int, mark: str) -> str:
    """Python that prints about `size` bytes; `mark` tells one program from another."""
    whole = f"(l * ({size} // len(l) + 1))[:{size}]"
    return f"# {mark}\nimport sys\n{SHAPES[shape]}\nsys.stdout.write({PRINTS[shape].format(whole)})"


@contextmanager
def peak_mib(client: Client) -> Iterator[list[float]]:
    """The most that the server held meanwhile, in the list's one place."""
    peak, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            peak[0] = max(peak[0], client.resident_mib())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def queue_s(folder: Path) -> float:
    """Seconds until nothing is queued any more."""
    started = time.perf_counter()
    while any(folder.glob("projects/*.queue/*")):
        if time.perf_counter() - started > QUEUE_S_MAX:
            raise RuntimeError(f"still queued after {QUEUE_S_MAX} s")
        time.sleep(0.05)
    return time.perf_counter() - started


async def measure(mib: int, shapes: Sequence[str]) -> Report:
    report = Report("large_output")
    size = mib << 20
    async with opened() as executor:
        await executor.run(Request("python", "1"))
        for shape in shapes:
            code = program(shape, size, "one")
            alone = []
            for _ in range(3):
                started = time.perf_counter()
                completed = await executor.run(Request("python", code))
                alone.append(time.perf_counter() - started)
                assert completed.stdout_spool is not None
                completed.stdout_spool.delete()
            bare = summary(alone)
            with server("-m", "ctxmode", "serve") as client, peak_mib(client) as peak:
                client.call("ctx_execute", language="python", code="print(1)")
                data = client.data
                took = client.call("ctx_execute", language="python", code=code)
                report.add(Row(f"{shape}, ctx_execute", summary([took]), bare, bar_ms=2000))
                behind = client.call(
                    "ctx_execute", language="python", code=program(shape, size, "two")
                )
                report.add(
                    Row(f"{shape}, while one is queued", summary([behind]), bare, bar_ms=2000)
                )
                report.figures[f"{shape}_indexed_behind_s"] = queue_s(data)
                again = client.call("ctx_execute", language="python", code=code)
                report.add(Row(f"{shape}, the same again", summary([again]), bare, bar_ms=2000))
                report.figures[f"{shape}_server_peak_mib"] = peak[0]
            report.add(
                Row(f"{shape}, context-mode run", summary([by_hand(code)]), bare, bar_ms=2000)
            )
    report.notes = (
        f"{mib} MiB each; beside it the run alone, through an executor that keeps nothing",
    )
    return report


def by_hand(code: str) -> float:
    """Seconds of one `context-mode run` in an empty project."""
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        project = Path(folder, "project")
        project.mkdir()
        environment = {**os.environ, "CONTEXT_MODE_DIR": str(Path(folder, "data"))}
        command = [sys.executable, "-m", "ctxmode", "run", "python", "-c"]
        for text in ("1", code):
            started = time.perf_counter()
            subprocess.run(
                [*command, text],
                cwd=project,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=True,
            )
            took = time.perf_counter() - started
    return took


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--mib", type=int, default=60, metavar="N")
    parser.add_argument("--shape", action="append", choices=tuple(SHAPES), help="default: all")
    args = parser.parse_args(argv)
    show(trio.run(measure, args.mib, args.shape or tuple(SHAPES)), as_json=args.json)


if __name__ == "__main__":
    main()
