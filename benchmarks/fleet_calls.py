"""Processor's time that the calls of a run take at its front, with a real Remote Execution server.

That is BuildGrid on this machine, with certificates on both sides; CTXMODE_BUILDGRID names its
`bgd`. Its workers are another process, and do nothing. How long a run takes is the server's time
to assign more than anything else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from io import BytesIO
from pathlib import Path

import trio
import trustme

from benchmarks.report import Report, Row, summary
from fleet.dispatcher import Delivery, Dispatcher, Placement
from fleet.engines import open_engine
from fleet.model import PROTOCOL, Ticket
from fleet.tree import Entry, build, digest_of
from tests.fleet.engines.bot import Bot, Done
from tests.fleet.engines.remote_server import RemoteServer, missing_part, remote_server

BOTS = 4
ORDER_BYTES = 3_500
LOADS = ((1, 20), (16, 200))  # at once, in all


def measure(_: Path, report: Report, __: str) -> None:
    """Add the time of runs, and of the processor for each, to a report."""
    if reason := missing_part():
        report.notes += (f"calls: not measured. {reason}",)
        return
    with remote_server() as server:
        words = [sys.executable, "-m", "benchmarks.fleet_calls", str(server.port)]
        bots = subprocess.Popen([*words, str(server.folder)], stdout=subprocess.PIPE)
        try:
            assert bots.stdout is not None
            bots.stdout.readline()
            trio.run(_measure, server, report)
        finally:
            bots.kill()
            bots.wait()


async def _measure(server: RemoteServer, report: Report) -> None:
    async with open_engine(server.url, server.front) as engine:
        await run_one(engine)
        for at_once, count in LOADS:
            took: list[float] = []
            began_s = time.process_time()
            async with trio.open_nursery() as nursery:
                for _ in range(at_once):
                    nursery.start_soon(_run_some, engine, count // at_once, took)
            used_s = time.process_time() - began_s
            report.add(Row(f"runs by BuildGrid, {at_once} at once", summary(took)))
            report.figures[f"calls_ms_of_processor_a_run_of_{at_once}"] = 1e3 * used_s / len(took)


async def _run_some(engine: Dispatcher, count: int, took: list[float]) -> None:
    for _ in range(count):
        began_s = time.perf_counter()
        await run_one(engine)
        took.append(time.perf_counter() - began_s)


async def run_one(engine: Dispatcher) -> None:
    """All that a front calls the engine for: its files there, the run, its outcome back."""
    order = os.urandom(ORDER_BYTES)
    tree = build([Entry("order", digest_of(order))])
    ticket = await engine.submit(
        Placement(
            run_id=f"run-{digest_of(order).hash[:16]}",
            owner="owner",
            order=digest_of(order),
            command=("context-mode", "worker", "--once", "order"),
            root=tree.root,
            outputs=("outcome.json",),
            properties=(("context-mode", str(PROTOCOL)),),
            timeout_s=60.0,
            own={digest_of(order): order, **tree.folders},
        )
    )
    assert isinstance(ticket, Ticket)
    delivery = await engine.wait(ticket)
    assert isinstance(delivery, Delivery)
    await engine.blobs.get(delivery.files["outcome.json"], BytesIO().write)


def work(port: int, folder: Path) -> None:
    """Be the workers of a server, until killed."""
    server = RemoteServer(port, folder, trustme.CA())  # by which nobody is certified any more
    done = Done({"outcome.json": b"{}"})
    bots = [
        Bot(server, f"bot{number}", lambda *_: done, context_mode=str(PROTOCOL))
        for number in range(BOTS)
    ]
    threads = [threading.Thread(target=bot.serve) for bot in bots]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    work(int(sys.argv[1]), Path(sys.argv[2]))
