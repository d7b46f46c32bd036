"""What an engine adds to a run: `python -m benchmarks.fleet_engines [--runs N] [--json]`.

An order goes to an engine on loopback with certificates, to a worker there that does nothing, and
comes back: from `submit` until `wait` has its delivery. First one with nothing to fetch, then one
that fetches 5 MB and hands back 1 MB. One order at a time, with a pause between them.
BuildGrid is measured where CTXMODE_BUILDGRID names it and PostgreSQL is installed.
"""

from __future__ import annotations

import functools
import io
import os
import tempfile
import time
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import trio

from benchmarks.report import Report, Row, argument_parser, show, summary
from fleet.blob_cache import BlobCache
from fleet.dispatcher import Delivery, Dispatcher, Placement
from fleet.doer import OUTPUTS, Fetch
from fleet.engines import open_engine
from fleet.engines.serving import Serving, serve
from fleet.tree import Digest, Entry, build, digest_of
from tests.fleet.engines.dask_scheduler import dask_scheduler
from tests.fleet.engines.remote_server import missing_part, remote_server

PROPERTIES = (("context-mode", "1"), ("tier", "A"))
IN_BYTES, OUT_BYTES = 5_000_000, 1_000_000
PAUSE_S = 0.02
WARMING = 10


class Nothing:
    """A worker that fetches what it is told to, runs nothing, and hands back zeros."""

    def __init__(self, folder: Path) -> None:
        self._cache = BlobCache(folder)

    async def do(self, sealed: bytes, fetch: Fetch, out: Path) -> None:
        _, hashed, size = sealed.decode().split()
        if int(size):
            digest = Digest(hashed, int(size))
            await fetch(frozenset([digest]), self._cache)
            (out / "stdout").write_bytes(os.urandom(OUT_BYTES))
        (out / "outcome.json").write_bytes(b"{}")


async def do_one(engine: Dispatcher, project: bytes) -> float:
    """Seconds from the order's submission to its delivery; its files are put before."""
    run_id = uuid.uuid4().hex
    wanted = digest_of(project)
    sealed = f"{run_id} {wanted.hash} {wanted.size_bytes}".encode()
    root = build([Entry("order", digest_of(sealed)), Entry("project")])
    blobs = {digest_of(one): one for one in (sealed, project, *root.folders.values())}
    await engine.blobs.put({d: functools.partial(io.BytesIO, one) for d, one in blobs.items()})
    placement = Placement(
        run_id=run_id,
        owner="owner",
        order=digest_of(sealed),
        command=("context-mode", "worker", "--once", "order"),
        root=root.root,
        outputs=OUTPUTS,
        properties=PROPERTIES,
        timeout_s=60,
        own={digest_of(sealed): sealed},
    )
    started = time.perf_counter()
    delivery = await engine.wait(await engine.submit(placement))  # type: ignore[arg-type]
    took = time.perf_counter() - started
    assert isinstance(delivery, Delivery), delivery
    return took


async def measure_one(name: str, server: Any, blobs_url: str, runs: int, report: Report) -> None:  # noqa: ANN401
    """Add an engine's rows."""
    with tempfile.TemporaryDirectory() as folder:
        doer = Nothing(Path(folder) / "cache")
        how = Serving("bench", 1, PROPERTIES)
        async with (
            open_engine(server.url, server.front, blobs_url) as engine,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(serve, server.url, server.front, blobs_url, doer, how)
            for what, size in (("nothing", 0), ("5 MB in, 1 MB out", IN_BYTES)):
                took = []
                for _ in range(runs if not size else runs // 5 + WARMING):
                    took.append(await do_one(engine, os.urandom(size)))
                    await trio.sleep(PAUSE_S)
                report.add(Row(f"{name}: {what}", summary(took[WARMING:])))
            nursery.cancel_scope.cancel()


async def measure(runs: int) -> Report:
    report = Report("fleet_engines")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        scheduler = stack.enter_context(dask_scheduler(folder))
        await measure_one("Dask", scheduler, scheduler.blobs, runs + WARMING, report)
    if not missing_part():
        with remote_server() as server:
            await measure_one("BuildGrid", server, "", runs + WARMING, report)
    report.notes = (missing_part() or "BuildGrid assigns from a database, each 20 ms",)
    return report


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--runs", type=int, default=100, metavar="N")
    args = parser.parse_args(argv)
    show(trio.run(measure, args.runs), as_json=args.json)


if __name__ == "__main__":
    main()
