"""The front of a fleet: which runs of an engine are sent to other machines, and which stay here.

A run goes through: judge, snapshot, order, journal, turn, engine, outcome. A run that must stay
here, or that this machine has room for, is placed here.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import trio

from executor import (
    Caller,
    CheckedRequest,
    Completed,
    LocalEngine,
    Request,
    RequestError,
    Result,
    Status,
)
from executor.engine import Observe, OnOutput
from fleet.cluster import (
    INSTALL,
    Cluster,
    ClusterError,
    ClusterSettings,
    Connection,
    Fallback,
    Send,
    UnreachableError,
    find_cluster,
)
from fleet.journal import Journal, QueueFullError
from fleet.order_desk import Desk, SentRun
from fleet.run_dispatch import GiveUpError, KeepAdopted, Sending, tend
from fleet.seal import have_key
from fleet.snapshot import name_owner
from fleet.tree import BlobError, digest_of
from fleet.turns import DAY_S, Turns
from fleet.upload_filter import StaysHereError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from fleet.dask.client import DaskRuns


ASK_AGAIN_S: Final = 1.0


def open_cluster(cluster: Cluster) -> AbstractAsyncContextManager[DaskRuns]:
    """Return the cluster's client, which connects when the block begins.

    Raises:
        ClusterError: the credentials, the folder or this installation cannot be used. The block's
            beginning raises it, too, and UnreachableError.
    """
    try:
        from fleet.dask.client import open_dask  # noqa: PLC0415 - takes half a second
    except ImportError as error:
        raise ClusterError(f"a cluster needs {error.name}", INSTALL) from None
    return open_dask(cluster)


class Fleet:
    """The runs of an engine on other machines, or on this one. Only `open_fleet` makes it.

    `notices` are messages for the user about runs that stayed here, each once.
    """

    def __init__(self, sending: Sending) -> None:
        self.sending = sending
        self.desk = sending.desk
        self.turns = sending.turns
        self.settings = sending.desk.settings
        self.figures = sending.desk.figures
        self.notices: list[str] = []

    async def place(
        self, judged: CheckedRequest, *, on_output: OnOutput | None, observe: Observe | None
    ) -> Completed:
        """Run a judged request, here or elsewhere. Cancelling ends it; see `LocalEngine.run`.

        Output of runs elsewhere reaches `on_output` when they end.

        Raises:
            RequestError: it must be sent and cannot be; or too many runs of its owner wait.
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
                name, verdict = judged.profile.name, judged.verdict
                unavailable = Status.SANDBOX_UNAVAILABLE
                return Completed(Result(unavailable, message=why, profile=name, verdict=verdict))
        self._note(judged, f"run on this machine: {why}")
        return await here()

    async def _accept_in_time(self, judged: CheckedRequest) -> SentRun:
        """Have a run accepted; wait for the engine first if the settings say so.

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

    def _note(self, judged: CheckedRequest, notice: str) -> None:
        """Count a run that is done here, and note the reason, each reason once."""
        self.figures.kept_here[name_owner(judged, self.desk.local.project)] += 1
        if notice not in self.notices:
            self.notices.append(notice)

    async def examine(self) -> FleetHealth:
        """Try the engine and a worker, part by part."""
        return await examine(self)


def _explain(error: Exception) -> RequestError:
    if isinstance(error, RequestError):
        return error
    hint = 'Run it here: set cluster.send = "overflow", or omit --cluster.'
    return RequestError(f"it cannot be sent to another machine: {error}", hint)


@contextlib.asynccontextmanager
async def open_fleet(
    local: LocalEngine,
    settings: ClusterSettings,
    folder: Path,
    keep: KeepAdopted,
    opens: Callable[[], AbstractAsyncContextManager[DaskRuns]] | None = None,
) -> AsyncIterator[Fleet]:
    """Open a fleet for an engine's runs during the block, without contacting any machine yet.

    The journal is in `folder`. `keep` takes the outcomes of dead fronts' runs. `opens` opens
    another engine than the one of the URL.

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


RUN_S_MAX: Final = 60.0
"""Time limit for the trial run: without a worker of this release nothing is returned."""
_WORD: Final = "here"


@dataclass(frozen=True, slots=True)
class FleetHealth:
    """The health of a fleet: what works, and why the next part does not."""

    url: str
    answers: bool = False
    keeps_blobs: bool = False
    runs: bool = False
    reason: str = ""  # why the next part does not work
    remedy: str = ""
    worker: str = ""  # the one that did the trial run
    tier: str = ""  # of the trial run's box
    run_s: float | None = None  # of the trial run
    advice: str = ""  # why it is slow, though it works


async def examine(fleet: Fleet) -> FleetHealth:
    """Try a fleet; a part that does not work is returned as a value."""
    inside = list_inside(fleet.desk.local.project, fleet.settings)
    advice = f"{inside[0]} is in the project. Move it out, then set it again." if inside else ""
    health = FleetHealth(fleet.settings.url, advice=advice)
    try:
        engine = await fleet.desk.connection.engine()
        health = replace(health, answers=True)
        data = os.urandom(32)
        digest = digest_of(data)
        await engine.blobs.put({digest: lambda: [data]})
        back = io.BytesIO()
        await engine.blobs.get(digest, back.write)
        health = replace(health, keeps_blobs=back.getvalue() == data)
        return await _try_run(fleet, health)
    except RequestError as error:
        return replace(health, reason=error.message, remedy=error.hint)
    except (UnreachableError, BlobError, StaysHereError, GiveUpError) as error:
        return replace(health, reason=str(error), remedy="Check the cluster and its certificates.")


def list_inside(project: Path, settings: ClusterSettings) -> list[str]:
    """List the settings whose files are in the project. Every look at the project would include
    them, and stored files change it with every run."""
    paths = {"cluster.seal": settings.seal}
    blobs = urlsplit(settings.blobs)
    if blobs.scheme in ("", "file", "local"):
        paths["cluster.blobs"] = Path(unquote(blobs.path))
    if settings.credentials is not None:
        files = settings.credentials
        paths |= {"cluster.key": files.key, "cluster.certificate": files.certificate}
        paths["cluster.ca"] = files.ca
    return sorted(name for name, path in paths.items() if path.resolve().is_relative_to(project))


async def _try_run(fleet: Fleet, health: FleetHealth) -> FleetHealth:
    """Run a trial elsewhere, whatever the settings are."""
    request = Request("shell", code=f"echo {_WORD}", timeout_s=RUN_S_MAX)
    judged = await fleet.desk.local.judge(request, Caller())
    if isinstance(judged, Completed):
        return replace(health, reason=f"a rule denies the trial run: {judged.result.message}")
    began, result = time.monotonic(), None
    run = await fleet.desk.accept(judged)
    with trio.move_on_after(RUN_S_MAX):
        result = (await fleet.sending.follow(run)).result
    if result is None:
        reason = f"no worker ran the trial within {RUN_S_MAX:.0f} s"
        return replace(health, reason=reason, remedy="Run: context-mode serve worker --cluster URL")
    if result.status is not Status.OK or result.stdout.text.strip() != _WORD:
        return replace(health, reason=f"the trial run ended {result.status}: {result.message}")
    took_s = time.monotonic() - began
    tier, worker = result.isolation.tier, result.worker or "?"
    return replace(health, runs=True, worker=worker, tier=tier, run_s=took_s)
