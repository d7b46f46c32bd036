"""Calls of tools over stdio: what the protocol adds to a run, and how late large outputs answer."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import trio

from benchmarks.engine import opened, time_run
from benchmarks.harness import PROGRAMS, Bench, measure
from benchmarks.kb import make_printing
from benchmarks.processes import PROGRAM, Client, connect, make_environment, start
from executor import Request

IDLE_S = 3.0
WARM_UP = 5  # calls that prove the shell, and fill what is prepared
QUEUE_S_MAX = 600


@contextmanager
def serve(bench: Bench, name: str, *words: str) -> Iterator[Client]:
    """Start a server in a project of its own, ready for calls."""
    project = bench.make_folder(f"project-{name}")
    environment = make_environment(bench.folder / f"data-{name}")
    environment["CONTEXT_MODE_PROJECT_DIR"] = str(project)
    with connect(words, environment, project) as client:
        yield client


@measure(50)
async def call(bench: Bench) -> None:
    """Measure calls in turn with the same run through an engine, and with an empty call."""
    with (
        serve(bench, "ours", *PROGRAM, "serve") as client,
        serve(bench, "nothing", sys.executable, "-c", PROGRAMS["serve nothing"]) as bare,
    ):
        async with opened(bench, has_rules=True) as engine:
            ours, nothing, direct = await bench.turns(
                partial(client.call, "ctx_execute", language="shell", code="true"),
                partial(bare.call, "nothing"),
                partial(time_run, engine, Request("shell", "true")),
                warm_up=WARM_UP,
                pause_s=0.05,
            )
        await trio.sleep(IDLE_S)
        resident = client.resident_mib()
    bench.times("ctx_execute", ours, "the run alone", direct, "≤ 1 ms more")
    bench.times("a tool that does nothing, by the protocol's library", nothing)
    bench.value("resident memory of the idle server", resident, "MiB")


@measure(1, is_long=True, mib="60")
async def large_output(bench: Bench) -> None:
    """Measure calls whose programs print much, beside the run alone, which stores nothing."""
    size = int(bench.options["mib"]) << 20
    async with opened(bench) as engine:
        await time_run(engine, Request("python", "1"))
        for shape in filter(bench.wants, ("log", "json", "line")):
            code = make_printing(shape, size)
            (bare,) = await bench.turns(
                partial(time_run, engine, Request("python", code)), rounds=3
            )
            with serve(bench, shape, *PROGRAM, "serve") as client, _peak_mib(client) as peak:
                call = partial(client.call, "ctx_execute", language="python")
                call(code="print(1)")
                calls = {"ctx_execute": call(code=code)}
                calls["while one is queued"] = call(code=f"# another\n{code}")
                behind_s = _wait_for_queue(bench.folder / f"data-{shape}")
                calls["the same again"] = call(code=code)
            calls["context-mode run"] = _run_once(bench, shape, code)
            for name, took in calls.items():
                title = f"{size >> 20} MiB of {shape}: {name}"
                bench.times(title, [took], "the run alone", bare, "≤ 2000 ms more")
            bench.value(f"{shape}: indexing behind the answers", behind_s, "s")
            bench.value(f"{shape}: the server's peak memory", peak[0], "MiB")


@contextmanager
def _peak_mib(client: Client) -> Iterator[list[float]]:
    """Watch the most that the server holds in memory, in the list's one place."""
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


def _wait_for_queue(folder: Path) -> float:
    """Return the seconds until nothing is queued."""
    began = time.perf_counter()
    while any(folder.glob("projects/*.queue/*")):
        if time.perf_counter() - began > QUEUE_S_MAX:
            raise RuntimeError(f"still queued after {QUEUE_S_MAX} s")
        time.sleep(0.05)
    return time.perf_counter() - began


def _run_once(bench: Bench, shape: str, code: str) -> float:
    """Return the seconds of one `context-mode run` in an empty project, its languages proven."""
    project = bench.make_folder(f"alone-{shape}")
    environment = make_environment(bench.folder / f"data-alone-{shape}")
    spent = [
        start((*PROGRAM, "run", "python", "-c", text), environment, project) for text in ("1", code)
    ]
    return spent[-1][0]
