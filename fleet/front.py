"""The front of a fleet: what of an engine's runs is sent to other machines, and what stays here.

A run goes through: judge, snapshot, order, journal, turn, engine, outcome. What has to stay, and
what this machine has room for, is placed here.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

from executor.engine.engine import Completed, Observe, OnOutput
from executor.errors import RequestError
from executor.model import Result, Status
from executor.service import LocalEngine
from executor.terms import JudgedRequest
from fleet.cluster import Connection, find_cluster, open_cluster
from fleet.desk import Desk
from fleet.errors import UnreachableError
from fleet.journal import Journal, QueueFullError
from fleet.keys import have_key
from fleet.packing import name_owner
from fleet.sending import GiveUpError, Sending
from fleet.sent_run import SentRun
from fleet.settings import ClusterSettings, Fallback, Send
from fleet.tending import KeepAdopted, tend
from fleet.travel import StaysHereError
from fleet.turns import DAY_S, Turns

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from fleet.dask.client import DaskRuns
    from fleet.examining import FleetHealth

ASK_AGAIN_S: Final = 1.0


class Fleet:
    """Has an engine's runs done on other machines, or on this. Made by `open_fleet` only.

    `notices` are what a person should know of runs that stayed here, each once.
    """

    def __init__(self, sending: Sending) -> None:
        self.sending = sending
        self.desk = sending.desk
        self.turns = sending.turns
        self.settings = sending.desk.settings
        self.figures = sending.desk.figures
        self.notices: list[str] = []

    async def place(
        self, judged: JudgedRequest, *, on_output: OnOutput | None, observe: Observe | None
    ) -> Completed:
        """Have what was judged done, here or elsewhere. Cancelling ends it; see `LocalEngine.run`.

        What is printed elsewhere reaches `on_output` at the run's end.

        Raises:
            RequestError: it can't be sent although that is demanded; or too many runs of its owner
                wait.
        """
        local = self.desk.local
        is_sent_always = self.settings.send is Send.ALWAYS
        here = partial(local.place, judged, on_output=on_output, observe=observe)
        if not is_sent_always and not local.is_busy:
            return await here()
        try:
            run = await self._accept_in_time(judged)
            run.on_output = on_output
            with local.list_run(run):
                return await self.sending.follow(run, observe)
        except (StaysHereError, RequestError) as error:
            if is_sent_always or isinstance(error.__cause__, QueueFullError):
                raise _explain(error) from error
            why = str(error)
        except GiveUpError as error:
            why = str(error)
            if self.settings.fallback is not Fallback.LOCAL:
                name, verdict = judged.checked.profile.name, judged.verdict
                unavailable = Status.SANDBOX_UNAVAILABLE
                return Completed(Result(unavailable, message=why, profile=name, verdict=verdict))
        self._note(judged, f"done here: {why}")
        return await here()

    async def _accept_in_time(self, judged: JudgedRequest) -> SentRun:
        """Have a run accepted, once the engine answers if that is to be waited for.

        Raises:
            StaysHereError, RequestError: see `Desk.accept`.
            GiveUpError: the engine does not answer. Nothing was accepted then.
        """
        waits_s = self.settings.wait_s if self.settings.fallback is Fallback.WAIT else 0.0
        last = trio.current_time() + waits_s
        while True:
            try:
                return await self.desk.accept(judged)
            except UnreachableError as error:
                if trio.current_time() >= last:
                    raise GiveUpError(f"{self.settings.url} does not answer: {error}") from error
            await trio.sleep(ASK_AGAIN_S)

    def _note(self, judged: JudgedRequest, notice: str) -> None:
        """Count a run that is done here, and say why, each reason once."""
        self.figures.kept_here[name_owner(judged, self.desk.local.project)] += 1
        if notice not in self.notices:
            self.notices.append(notice)

    async def examine(self) -> FleetHealth:
        """Try the engine and a worker, part by part; see `fleet.examining`."""
        from fleet.examining import examine  # noqa: PLC0415 - few ask

        return await examine(self)


def _explain(error: Exception) -> RequestError:
    if isinstance(error, RequestError):
        return error
    hint = 'leave it to this machine: cluster.send = "overflow", or without --cluster'
    return RequestError(f"it can't be sent to another machine: {error}", hint)


@contextlib.asynccontextmanager
async def open_fleet(
    local: LocalEngine,
    settings: ClusterSettings,
    folder: Path,
    keep: KeepAdopted,
    opens: Callable[[], AbstractAsyncContextManager[DaskRuns]] | None = None,
) -> AsyncIterator[Fleet]:
    """Have an engine's runs sent to other machines for a block; nothing is asked of theirs yet.

    The journal is in `folder`. `keep` takes the outcomes of runs that dead fronts left. `opens`
    opens another engine than the one of the URL.

    Raises:
        ClusterError: the URL, the certificates, the key or the journal can't be used.
    """
    if opens is None:
        cluster = find_cluster(settings.url, settings.credentials, settings.blobs)
        opens = partial(open_cluster, cluster)
    key = await trio.to_thread.run_sync(have_key, settings.seal)
    name = hashlib.sha256(str(local.project).encode()).hexdigest()[:16]
    path = folder / f"{name}.sqlite3"
    journal = await trio.to_thread.run_sync(Journal, path, local.instance.id)
    try:
        turns = Turns(settings.at_once, settings.owners, settings.usual)
        now_s = time.time()
        for owner, cpu_s in (await journal.read_spent(int(now_s // DAY_S))).items():
            turns.charge(owner, now_s, cpu_s)
        async with contextlib.AsyncExitStack() as stack, trio.open_nursery() as nursery:
            desk = Desk(local, settings, key, journal, Connection(opens, stack))
            sending = Sending(desk, turns)
            nursery.start_soon(tend, sending, keep)
            local.elsewhere = fleet = Fleet(sending)
            try:
                yield fleet
            finally:
                local.elsewhere = None
            nursery.cancel_scope.cancel()
    finally:
        journal.close()
