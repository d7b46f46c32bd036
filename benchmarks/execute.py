"""Runs: what the sandbox costs each language, how fast runs follow each other, how limits act.

Sides "by itself" are the same command lines started by hand, with no isolation, limits or capture.
A cold run is one for which nothing was prepared; a warm one finds its sandbox made, and its
interpreter started.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import trio

import runtimes
from benchmarks.engine import (
    NO_BUBBLEWRAP,
    bubblewrap,
    by_hand,
    chosen,
    opened,
    prepared,
    run_prepared,
    time_run,
)
from benchmarks.harness import Bench, Side, measure
from executor import LocalEngine, Request, Settings

WORD = ("/bin/bash", "-c", "echo word")
REQUEST = Request("shell", "echo word")
WARM_UP = 3  # what is used twice is kept warm from then on
CLIENTS, SLICE_S = 8, 2.0
DEADLINE_S = 0.3
RESISTS = (
    "trap '' TERM INT HUP; for i in 1 2 3; do (setsid sh -c 'sleep {mark}' &); done; sleep {mark}"
)


@measure(5)
async def languages(bench: Bench) -> None:
    """Measure each language's hello program: by itself, cold and warm."""
    async with opened(bench, settings=Settings(prewarm=False)) as cold, opened(bench) as warm:
        for name, report in (await cold.languages()).items():
            if not report.runnable or not bench.wants(name):
                continue
            candidate = chosen(report, Path(cold.project))
            hello, printed = candidate.language.hello, candidate.language.hello_output
            request, hits = Request(name, hello), [0]

            async def run_warm(
                request: Request = request, printed: str = printed, hits: list[int] = hits
            ) -> float:
                took = await run_prepared(warm, request, printed)
                hits.append(sum(pool.hits for pool in warm.pools))
                return took

            bare, by_cold, by_warm = await bench.turns(
                partial(_run_bare, candidate),
                partial(time_run, cold, request, printed),
                run_warm,
                warm_up=WARM_UP,
            )
            bench.times(f"{name}, cold", by_cold, "by itself", bare)
            bench.times(f"{name}, warm", by_warm, "by itself", bare)
            if hits[-1] - hits[WARM_UP] < bench.rounds:
                bench.notes.append(f"{name}: not every warm run found something prepared")


def _run_bare(candidate: runtimes.Candidate) -> float:
    with prepared(candidate) as ready:
        began = time.perf_counter()
        printed = [ready.start(command) for command in ready.commands][-1]
        took = time.perf_counter() - began
    if printed != candidate.language.hello_output:
        raise RuntimeError(f"{candidate.language.name} printed {printed!r}")
    return took


@measure(10)
async def compiled(bench: Bench) -> None:
    """Measure the second run of compiled programs, whose compiled form is kept."""
    async with opened(bench) as engine:
        for name, found in (await engine.languages()).items():
            row = runtimes.language(name)
            keeps = any(t.name == found.toolchain and t.inputs for t in row.toolchains)
            if not (found.runnable and keeps and bench.wants(name)):
                continue
            with prepared(chosen(found, Path(engine.project))) as ready:
                *compiling, running = ready.commands
                for command in compiling:
                    ready.start(command)
                ours = partial(time_run, engine, Request(name, row.hello), row.hello_output)
                await ours()
                bare, beside = partial(ready.start, running), "compiled, by itself"
                await bench.time_sides(name, ours, beside, bare, "≤ 10 ms more", pause_s=0.05)


@measure(40)
async def isolation(bench: Bench) -> None:
    """Measure a shell that says one word: by itself, in bubblewrap, cold and warm."""
    async with opened(bench, settings=Settings(prewarm=False)) as cold, opened(bench) as warm:
        boxed = bubblewrap(Path(cold.project), WORD)
        sides: list[Side] = [
            partial(by_hand, WORD, b"word\n"),
            *([partial(by_hand, boxed, b"word\n")] if boxed else []),
            partial(time_run, cold, REQUEST, "word\n"),
            partial(run_prepared, warm, REQUEST, "word\n"),
        ]
        bare, *boxes, by_cold, by_warm = await bench.turns(*sides, warm_up=WARM_UP)
    others = boxes[0] if boxes else ()
    bench.times("bash by itself", bare)
    bench.times("cold", by_cold, "bubblewrap", others, "ratio ≤ 1.6")
    bench.times("warm", by_warm, "bubblewrap", others)
    bench.notes += [] if boxed else [NO_BUBBLEWRAP]


@measure(3)
async def throughput(bench: Bench) -> None:
    """Measure runs of eight clients at once, and those of one session."""
    ours: list[float] = []
    boxed: list[float] = []
    async with opened(bench) as engine:
        argv = bubblewrap(Path(engine.project), WORD)
        in_box = partial(trio.to_thread.run_sync, by_hand, argv)
        await time_run(engine, REQUEST)
        for _ in range(bench.rounds):
            ours += await _sustain(partial(time_run, engine, REQUEST, "word\n"), CLIENTS)
            boxed += await _sustain(in_box, CLIENTS) if argv else []
        in_session = Request("shell", "echo word", session="throughput")
        await time_run(engine, in_session)
        session = await _sustain(partial(time_run, engine, in_session, "word\n"), 1)
    lasted_s = bench.rounds * SLICE_S
    bench.times("a run of 8 clients at once", ours, "bubblewrap", boxed)
    bench.value("runs a second of 8 clients", len(ours) / lasted_s, "/s")
    bench.value("the same in bubblewrap", len(boxed) / lasted_s, "/s")
    bench.times("a call of one session", session)
    bench.value("calls a second of one session", len(session) / SLICE_S, "/s")


async def _sustain(side: Callable[[], Awaitable[float]], clients: int) -> list[float]:
    """Return the seconds of each run of so many clients that go on for a slice of time."""
    took: list[float] = []
    until = time.perf_counter() + SLICE_S

    async def client() -> None:
        while time.perf_counter() < until:
            took.append(await side())

    async with trio.open_nursery() as nursery:
        for _ in range(clients):
            nursery.start_soon(client)
    return took


@measure(20)
async def limits(bench: Bench) -> None:
    """Measure how late a timeout acts, and how long cancelled programs live that resist."""
    async with opened(bench) as engine:
        await time_run(engine, Request("shell", "true"))
        late = [await _overshoot_s(engine) for _ in range(bench.rounds)]
        dead = [await _cancel_to_dead_s(engine, f"77{number}") for number in range(bench.rounds)]
    bench.times("a timeout's overshoot", late)
    bench.times("from cancelling to no process left", dead)


async def _overshoot_s(engine: LocalEngine) -> float:
    request = Request("shell", RESISTS.format(mark=30), timeout_s=DEADLINE_S)
    # The wait for the sandbox, before the program starts, is not counted.
    return (await engine.run(request)).result.usage.wall_s - DEADLINE_S


async def _cancel_to_dead_s(engine: LocalEngine, mark: str) -> float:
    started = trio.Event()

    def on_output(_stream: str, _chunk: bytes) -> None:
        started.set()

    async def resist() -> None:
        code = RESISTS.format(mark=mark).replace("; sleep", "; echo; sleep")
        await engine.run(Request("shell", code), on_output=on_output)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(resist)
        await started.wait()
        while _count_sleeping(mark) < 4:
            await trio.sleep(0.005)
        began = time.perf_counter()
        nursery.cancel_scope.cancel()
    while _count_sleeping(mark):
        time.sleep(0.0005)
    return time.perf_counter() - began


def _count_sleeping(mark: str) -> int:
    found = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += path.read_bytes() == f"sleep\0{mark}\0".encode()
    return found
