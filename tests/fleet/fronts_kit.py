"""A front over this machine's real engine, an engine in memory, a worker that says a word."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trio

import executor
import policy
from executor.engine.engine import Completed
from executor.model import Isolation, Request, Result, Status, Stream, Usage
from executor.settings import Settings
from fleet import model
from fleet.cluster import ClusterSettings, Send
from fleet.front import Fleet, open_fleet
from fleet.model import Order
from fleet.result_files import hand_over
from fleet.worker import Fetch
from tests.fleet.memory_engine import MemoryEngine

WORD = "from afar\n"


@dataclass
class Sayer:
    """A worker that runs nothing and says a word; it waits for `may_end`."""

    may_end: trio.Event = field(default_factory=trio.Event)
    done: list[Order] = field(default_factory=list)

    async def do(self, sealed: bytes, fetch: Fetch, out: Path) -> None:
        order = model.decode(Order, sealed.partition(b"\n")[2])
        self.done.append(order)
        await self.may_end.wait()
        stdout = Stream(head=WORD, bytes_total=len(WORD), lines_total=1)
        result = Result(
            Status.OK, 0, stdout=stdout, usage=Usage(1.0, 0.5), isolation=Isolation("A")
        )
        result = replace(result, profile=order.profile.name)
        await trio.to_thread.run_sync(hand_over, Completed(result), order, "far", None, out)


@dataclass
class Front:
    """All that a test asks about."""

    fleet: Fleet
    local: executor.LocalEngine
    engine: MemoryEngine
    worker: Sayer
    project: Path
    kept: list[tuple[Request, Completed]]
    folder: Path


@contextlib.asynccontextmanager
async def open_front(
    folder: Path,
    *,
    rules: Callable[[], policy.Rules] = policy.Rules,
    concurrency: int = 1,
    engine: MemoryEngine | None = None,
    **given: Any,
) -> AsyncIterator[Front]:
    """A front of the project in a folder, by settings that differ as `given`."""
    project, home = folder / "project", folder / "home"
    for each in (project, home):
        each.mkdir(exist_ok=True)
    (project / "data.txt").write_text("some data\n")
    worker = Sayer()
    worker.may_end.set()
    engine = engine or MemoryEngine(folder / "out")
    engine.doer = worker
    settings = ClusterSettings("memory://here", folder / "front.key", send=Send.ALWAYS)
    kept: list[tuple[Request, Completed]] = []

    async def keep(request: Request, completed: Completed) -> None:
        kept.append((request, completed))

    async with (
        executor.open_engine(
            project=project,
            state_dir=folder / "state",
            rules=rules,
            home=home,
            settings=Settings(concurrency=concurrency, prewarm=False),
        ) as local,
        open_fleet(local, replace(settings, **given), folder / "fleet", keep, engine.open) as fleet,
    ):
        yield Front(fleet, local, engine, worker, project, kept, folder / "fleet")


async def until(holds: Callable[[], object]) -> None:
    """Wait for a condition."""
    with trio.fail_after(30):
        while not holds():  # noqa: ASYNC110 - of whatever
            await trio.sleep(0.01)
