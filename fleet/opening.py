"""Opens a project's fleet over its engine of this machine."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from executor.service import LocalEngine
from fleet.cluster import Connection, find_cluster, open_cluster
from fleet.desk import Desk
from fleet.front import Fleet
from fleet.journal import Journal
from fleet.keys import have_key
from fleet.known_digests import KnownDigests
from fleet.sending import KeepAdopted, Parts
from fleet.sent_run import Line
from fleet.settings import ClusterSettings
from fleet.tending import join_fronts, tend
from fleet.turns import DAY_S, Turns

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from fleet.dask.client import DaskRuns


@contextlib.asynccontextmanager
async def open_fleet(
    local: LocalEngine,
    settings: ClusterSettings,
    folder: Path,
    keep: KeepAdopted,
    opens: Callable[[], AbstractAsyncContextManager[DaskRuns]] | None = None,
) -> AsyncIterator[Fleet]:
    """The fleet of a project, whose books are in `folder`; nothing is asked of its engine yet.

    `keep` takes the outcomes of runs that dead fronts left. `opens` opens another engine than the
    one of the URL.

    Raises:
        ClusterError: the URL, the certificates, the key or the journal can't be used.
    """
    if opens is None:
        cluster = find_cluster(settings.url, settings.credentials, settings.blobs)
        opens = partial(open_cluster, cluster)
    key = await trio.to_thread.run_sync(have_key, settings.seal)
    name = hashlib.sha256(str(local.project).encode()).hexdigest()[:16]
    with join_fronts(folder / "fronts") as front:
        journal = await trio.to_thread.run_sync(Journal, folder / f"{name}.sqlite3", front)
        try:
            turns = Turns(settings.at_once, settings.owners, settings.usual)
            await _charge(turns, journal)
            line = Line(turns)
            async with contextlib.AsyncExitStack() as stack, trio.open_nursery() as nursery:
                connection = Connection(opens, stack)
                known = KnownDigests(folder / f"{name}.digests.sqlite3")
                parts = Parts(
                    *(local, settings, key, journal, line, connection, known),
                    *(folder / "fronts", keep),
                )
                desk = Desk(parts)
                nursery.start_soon(tend, desk, parts)
                yield Fleet(local, desk, parts)
                nursery.cancel_scope.cancel()
        finally:
            journal.close()


async def _charge(turns: Turns, journal: Journal) -> None:
    """Count what owners used today before this front began."""
    now_s = time.time()
    for owner, cpu_s in (await journal.read_spent(int(now_s // DAY_S))).items():
        turns.charge(owner, now_s, cpu_s)
