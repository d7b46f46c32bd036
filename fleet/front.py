"""The engine that sends runs to other machines, and has the face of this machine's.

A run goes through: judge, snapshot, order, journal, turn, engine, outcome. What has to stay, and
what this machine has room for, is placed here.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

from executor.caller import Caller
from executor.engine.engine import (
    Completed,
    LanguageReport,
    Observe,
    OnOutput,
    OnProgress,
    PackagesAnswer,
    PoolState,
)
from executor.errors import RequestError
from executor.model import Isolation, Request, Status
from executor.service import LocalEngine
from executor.terms import JudgedRequest
from fleet.cluster import Connection, find_cluster, open_cluster
from fleet.desk import Desk
from fleet.errors import UnreachableError
from fleet.journal import Journal, QueueFullError
from fleet.keys import have_key
from fleet.model import Cause, Lost
from fleet.packing import name_owner
from fleet.sending import GiveUpError, KeepAdopted, Parts
from fleet.sent_run import Line, SentRun, end_without_outcome
from fleet.settings import ClusterSettings, Fallback, Send
from fleet.tending import join_fronts, tend
from fleet.travel import StaysHereError
from fleet.turns import DAY_S, Turns

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from fleet.dask.client import DaskRuns
    from fleet.examining import FleetHealth
    from fleet.figures import Figures

ASK_AGAIN_S: Final = 1.0


class Fleet:
    """Runs requests for one project on other machines, or on this. Made by `open_fleet` only."""

    def __init__(self, local: LocalEngine, desk: Desk, parts: Parts) -> None:
        self.project = local.project
        self._local = local
        self._desk = desk
        self._parts = parts
        self._notices: list[str] = []

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know of runs that stayed here, each once."""
        return tuple(self._notices)

    @property
    def at_once(self) -> int | None:
        """How many runs are with the engine at most."""
        return self._desk.settings.at_once

    @property
    def engine(self) -> str:
        """The scheme of the engine's URL."""
        return self._desk.settings.url.partition("://")[0]

    @property
    def figures(self) -> Figures:
        """What was counted."""
        return self._desk.figures

    @property
    def waiting(self) -> Mapping[str, int]:
        """How many runs wait for their turn, by owner."""
        return self._desk.line.turns.waiting()

    @property
    def running(self) -> Mapping[str, int]:
        """How many runs are with the engine, by owner."""
        return self._desk.line.turns.running()

    @property
    def sent(self) -> tuple[SentRun, ...]:
        """The runs that are under way elsewhere."""
        return tuple(self._desk.line.runs.values())

    @property
    def isolation(self) -> Isolation:
        """The tier in use here and its layers; a result names its worker's."""
        return self._local.isolation

    @property
    def sessions(self) -> tuple[str, ...]:
        """The names of the sessions that live: all are on this machine."""
        return self._local.sessions

    @property
    def pools(self) -> tuple[PoolState, ...]:
        """What is prewarmed here."""
        return self._local.pools

    async def run(
        self,
        request: Request,
        *,
        on_output: OnOutput | None = None,
        observe: Observe | None = None,
        caller: Caller | None = None,
    ) -> Completed:
        """Run one program, here or elsewhere. Cancelling ends it; see `LocalEngine.run`.

        What is printed elsewhere reaches `on_output` at the run's end.

        Raises:
            RequestError: it can't be run as asked, or not be sent although that is demanded; or
                too many runs of its owner wait.
        """
        judged = await self._local.judge(request, caller or Caller())
        if isinstance(judged, Completed):
            return judged
        is_sent_always = self._desk.settings.send is Send.ALWAYS
        here = partial(self._local.place, judged, on_output=on_output, observe=observe)
        if not is_sent_always and not self._local.is_busy:
            return await here()
        try:
            run = await self._accept_in_time(judged)
            return await self._follow(run, on_output, observe)
        except (StaysHereError, RequestError) as error:
            if is_sent_always or isinstance(error.__cause__, QueueFullError):
                raise self._explain(error) from error
            self._note(judged, f"done here: {error}")
            return await here()
        except GiveUpError as error:
            if self._desk.settings.fallback is not Fallback.LOCAL:
                name = judged.checked.profile.name
                end = (Status.SANDBOX_UNAVAILABLE, str(error), name, judged.verdict)
                return end_without_outcome(*end)
            self._note(judged, f"done here: {error}")
            return await here()

    async def _accept_in_time(self, judged: JudgedRequest) -> SentRun:
        """Have a run accepted, once the engine answers if that is to be waited for.

        Raises:
            StaysHereError, RequestError: see `Desk.accept`.
            GiveUpError: the engine does not answer. Nothing was accepted then.
        """
        settings = self._desk.settings
        waits_s = settings.wait_s if settings.fallback is Fallback.WAIT else 0.0
        last = trio.current_time() + waits_s
        while True:
            try:
                return await self._desk.accept(judged)
            except UnreachableError as error:
                if trio.current_time() >= last:
                    raise GiveUpError(f"{settings.url} does not answer: {error}") from error
            await trio.sleep(ASK_AGAIN_S)

    async def _follow(
        self, run: SentRun, on_output: OnOutput | None, observe: Observe | None
    ) -> Completed:
        """Follow an accepted run to its end, however it comes.

        Raises:
            GiveUpError: the fleet does not bring it there.
        """
        completed: Completed | None = None
        lost = Lost(run.id, Cause.CANCELLED)
        try:
            self._desk.line.add(run)
            if observe:
                observe(run)
            with run.scope, self._local.list_run(run):
                completed = await self._desk.bring_to_end(run, on_output)
            if completed is None:
                why = "it was stopped before its worker handed anything back"
                completed = run.end(run.stopped or Status.CANCELLED, why)
            return completed
        except GiveUpError as error:
            lost = Lost(run.id, Cause.ENGINE, str(error))
            raise
        finally:
            await self._desk.close(run, completed, lost)

    def _explain(self, error: Exception) -> RequestError:
        if isinstance(error, RequestError):
            return error
        hint = 'leave it to this machine: cluster.send = "overflow", or without --cluster'
        return RequestError(f"it can't be sent to another machine: {error}", hint)

    def _note(self, judged: JudgedRequest, notice: str) -> None:
        """Count a run that is done here, and say why, each reason once."""
        self._desk.figures.kept_here[name_owner(judged, self.project)] += 1
        if notice not in self._notices:
            self._notices.append(notice)

    async def examine(self) -> FleetHealth:
        """Try the engine and a worker, part by part; see `fleet.examining`."""
        from fleet.examining import examine  # noqa: PLC0415 - few ask

        return await examine(self._local, self._desk, self._parts)

    async def check(self, request: Request) -> None:
        """Refuse what `run` would refuse of the request as such; see `LocalEngine.check`."""
        await self._local.check(request)

    async def have_packages(
        self, request: Request, caller: Caller, *, fetch: bool, fresh: bool = False
    ) -> PackagesAnswer:
        """Lock a request's packages here; see `LocalEngine.have_packages`."""
        return await self._local.have_packages(request, caller, fetch=fetch, fresh=fresh)

    async def languages(
        self, *, refresh: bool = False, on_progress: OnProgress | None = None
    ) -> Mapping[str, LanguageReport]:
        """Every language as it runs on this machine."""
        return await self._local.languages(refresh=refresh, on_progress=on_progress)

    async def language(self, name: str) -> LanguageReport:
        """One language as it runs on this machine."""
        return await self._local.language(name)

    async def interrupt(self, session: str, owner: str = "") -> bool:
        """Tell what runs in a session to stop: all sessions are on this machine."""
        return await self._local.interrupt(session, owner)


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
                parts = Parts(
                    *(local, settings, key, journal, line, connection),
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
