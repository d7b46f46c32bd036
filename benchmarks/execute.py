"""Runs: what the sandbox costs each language, how fast runs follow each other, how limits act.

Sides "by itself" are the same command lines started by hand, with no isolation, limits or capture.
A cold run is one for which nothing was prepared; a warm one finds its sandbox made, and its
interpreter started.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import trio

import runtimes
from benchmarks.engine import (
    NO_BUBBLEWRAP,
    Prepared,
    bubblewrap,
    by_hand,
    chosen,
    opened,
    prepared,
    run,
    something_waits,
)
from benchmarks.harness import Bench, Measure, Side, adds_at_most, ratio_at_most
from executor import LocalEngine, Request, Settings

WORD = ("/bin/bash", "-c", "echo word")
REQUEST = Request("shell", "echo word")
WARM_UP = 3  # what is used twice is kept warm from then on
CLIENTS, SLICE_S = 8, 2.0
DEADLINE_S = 0.3
RESISTS = (
    "trap '' TERM INT HUP; for i in 1 2 3; do (setsid sh -c 'sleep {mark}' &); done; sleep {mark}"
)


async def languages(bench: Bench) -> None:
    """Measure each language's hello program: by itself, cold and warm."""
    async with opened(bench, settings=Settings(prewarm=False)) as cold, opened(bench) as warm:
        for name, report in (await cold.languages()).items():
            if not report.runnable or not bench.wants(name):
                continue
            candidate = chosen(report, Path(cold.project))
            hello, printed = candidate.language.hello, candidate.language.hello_output
            bare: list[float] = []
            by_cold: list[float] = []
            by_warm: list[float] = []
            waited = True
            for number in range(WARM_UP + bench.rounds):
                bare.append(_run_bare(candidate))
                by_cold.append(await run(cold, Request(name, hello), printed))
                await something_waits(warm)
                hits = sum(pool.hits for pool in warm.pools)
                by_warm.append(await run(warm, Request(name, hello), printed))
                was_hit = sum(pool.hits for pool in warm.pools) > hits
                waited = waited and (was_hit or number < WARM_UP)
            others = bare[WARM_UP:]
            bench.times(f"{name}, cold", by_cold[WARM_UP:], "by itself", others)
            bench.times(f"{name}, warm", by_warm[WARM_UP:], "by itself", others)
            if not waited:
                bench.notes.append(f"{name}: not every warm run found something prepared")


def _run_bare(candidate: runtimes.Candidate) -> float:
    with prepared(candidate) as ready:
        began = time.perf_counter()
        printed = [ready.start(command) for command in ready.commands][-1]
        took = time.perf_counter() - began
    if printed != candidate.language.hello_output:
        raise RuntimeError(f"{candidate.language.name} printed {printed!r}")
    return took


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
                ours = partial(run, engine, Request(name, row.hello), row.hello_output)
                await ours()
                took, bare = await bench.turns(ours, partial(_start, ready, running), pause_s=0.05)
            bench.times(name, took, "compiled, by itself", bare, adds_at_most(10))


def _start(ready: Prepared, command: Sequence[str]) -> None:
    ready.start(command)


async def isolation(bench: Bench) -> None:
    """Measure a shell that says one word: by itself, in bubblewrap, cold and warm."""
    async with opened(bench, settings=Settings(prewarm=False)) as cold, opened(bench) as warm:
        boxed = bubblewrap(Path(cold.project), WORD)
        sides: list[Side] = [
            partial(by_hand, WORD, b"word\n"),
            *([partial(by_hand, boxed, b"word\n")] if boxed else []),
            partial(run, cold, REQUEST, "word\n"),
            partial(_run_warm, warm),
        ]
        bare, *boxes, by_cold, by_warm = await bench.turns(*sides, warm_up=WARM_UP)
    others = boxes[0] if boxes else ()
    bench.times("bash by itself", bare)
    bench.times("cold", by_cold, "bubblewrap", others, ratio_at_most(1.6))
    bench.times("warm", by_warm, "bubblewrap", others)
    bench.notes += [] if boxed else [NO_BUBBLEWRAP]


async def _run_warm(engine: LocalEngine) -> float:
    await something_waits(engine)
    return await run(engine, REQUEST, "word\n")


async def throughput(bench: Bench) -> None:
    """Measure runs of eight clients at once, and those of one session."""
    ours: list[float] = []
    boxed: list[float] = []
    async with opened(bench) as engine:
        argv = bubblewrap(Path(engine.project), WORD)
        await run(engine, REQUEST)
        for _ in range(bench.rounds):
            ours += await _sustain(partial(run, engine, REQUEST, "word\n"), CLIENTS)
            boxed += await trio.to_thread.run_sync(_sustain_boxed, argv) if argv else []
        in_session = Request("shell", "echo word", session="throughput")
        await run(engine, in_session)
        session = await _sustain(partial(run, engine, in_session, "word\n"), 1)
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


def _sustain_boxed(argv: Sequence[str]) -> list[float]:
    until = time.perf_counter() + SLICE_S

    def client(_: int) -> Iterator[float]:
        while time.perf_counter() < until:
            yield by_hand(argv)

    with ThreadPoolExecutor(CLIENTS) as pool:
        return [one for some in pool.map(lambda n: list(client(n)), range(CLIENTS)) for one in some]


async def limits(bench: Bench) -> None:
    """Measure how late a timeout acts, and how long cancelled programs live that resist."""
    async with opened(bench) as engine:
        await run(engine, Request("shell", "true"))
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


MEASURES = (
    Measure("execute.languages", "hello programs, cold and warm, beside the same by itself",
            languages, rounds=5),
    Measure("execute.compiled", "second runs of compiled programs, beside them by themselves",
            compiled, rounds=10),
    Measure("execute.isolation", "a shell that says one word, beside bubblewrap", isolation,
            rounds=40),
    Measure("execute.throughput", "eight clients at once, and one session, beside bubblewrap",
            throughput, rounds=3),
    Measure("execute.limits", "how late timeouts and cancelling take effect", limits),
)  # fmt: skip
