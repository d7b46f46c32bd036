"""The second run of a compiled program: `python -m benchmarks.compile_cache [--rounds N] [--json]`.

Beside it, in turn, the same program compiled beforehand and started by hand.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import trio

import runtimes
from benchmarks.execute import by_hand, chosen, expect
from benchmarks.report import Report, Row, argument_parser, opened, show, summary
from executor import LocalEngine, Request


async def kept(executor: LocalEngine, language: runtimes.Language) -> float:
    """Seconds of a run whose program is kept."""
    started = time.perf_counter()
    completed = await executor.run(Request(language.name, language.hello))
    took = time.perf_counter() - started
    expect(language, completed.result.stdout.text)
    return took


async def compare(executor: LocalEngine, candidate: runtimes.Candidate, rounds: int) -> Row:
    """Both in turn, after a run that compiles."""
    language = candidate.language
    ours, bare = [], []
    with by_hand(candidate) as ready:
        *compiling, running = ready.commands
        for command in compiling:
            subprocess.run(command, cwd=ready.folder, env=ready.environment, check=True)
        await kept(executor, language)
        for _ in range(rounds):
            ours.append(await kept(executor, language))
            started = time.perf_counter()
            subprocess.run(
                running, cwd=ready.folder, env=ready.environment, capture_output=True, check=True
            )
            bare.append(time.perf_counter() - started)
            await trio.sleep(0.05)  # what waits for its use is refilled
    return Row(language.name, summary(ours), summary(bare), bar_ms=10)


async def measure(rounds: int) -> Report:
    report = Report("compile_cache")
    async with opened() as executor:
        for name, found in (await executor.languages()).items():
            row = runtimes.language(name)
            keeps = any(t.name == found.toolchain and t.inputs for t in row.toolchains)
            if found.runnable and keeps:
                candidate = chosen(found, Path(executor.project))
                report.add(await compare(executor, candidate, rounds))
    report.notes = (f"{rounds} runs of each, in turn with the compiled program by hand",)
    return report


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--rounds", type=int, default=20, metavar="N")
    args = parser.parse_args(argv)
    show(trio.run(measure, args.rounds), as_json=args.json)


if __name__ == "__main__":
    main()
