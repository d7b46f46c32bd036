"""A run's way to a worker and back: its turn, the engine, and what follows where either is lost."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from executor.engine.engine import Completed
from executor.model import Request, Status
from executor.service import LocalEngine
from fleet.cluster import Connection
from fleet.errors import BlobError, ClusterError, OutcomeError, UnreachableError
from fleet.figures import Figures, Stage
from fleet.forms import FormError
from fleet.journal import Journal
from fleet.model import Cause, Delivery, Lost
from fleet.sent_run import Line, SentRun
from fleet.settings import ClusterSettings, Fallback
from fleet.snapshot import ChangedError, Snapshot

if TYPE_CHECKING:
    from fleet.dask.client import DaskRuns

log = logging.getLogger(__name__)

LOST_MAX: Final = 3
"""Workers that one run may cost: what loses so many is what kills them."""

PATIENCE_S: Final = 10.0
"""How long an engine may be silent until a run that it had is done here instead."""
DELAY_S: Final = 60.0
"""After so long without an outcome, and then as often, it is asked whether a worker has begun."""
BACK_OFF_S: Final = (0.2, 10.0)
CANCEL_S_MAX: Final = 5.0
"""How long ending a run at the engine may take, where nobody waits for it any more."""


KeepAdopted = Callable[[Request, Completed], Awaitable[object]]
"""Takes the outcome of a run that a dead front left: nobody waits for it."""
Receive = Callable[[SentRun, "DaskRuns", Delivery], Awaitable[Completed]]
"""Makes a result of what a worker handed back."""
FindSnapshot = Callable[[SentRun], Awaitable[Snapshot | None]]
"""Finds the snapshot of a run's project again; None if the project is another one by now."""


class GiveUpError(Exception):
    """The fleet does not bring this run to its end; it may be done here, if anybody waits."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a front. `fronts` is the folder of the fronts' locks."""

    local: LocalEngine
    settings: ClusterSettings
    key: Ed25519PrivateKey
    journal: Journal
    line: Line
    connection: Connection
    fronts: Path
    keep: KeepAdopted


class Sending:
    """Sends runs in their turns through one engine."""

    def __init__(
        self, parts: Parts, figures: Figures, receive: Receive, find_snapshot: FindSnapshot
    ) -> None:
        self._settings = parts.settings
        self._connection = parts.connection
        self._journal = parts.journal
        self._line = parts.line
        self._figures = figures
        self._told_at = -math.inf
        self._receive = receive
        self._find_snapshot = find_snapshot

    async def bring_to_end(self, run: SentRun) -> Completed:
        """Wait for a run's turn, have it done, and take what came back.

        It asks again for as long as its order is good. Cancelling ends it at the engine, but for
        what a dead front left: the next one goes on with that.

        Raises:
            GiveUpError: the engine is silent, or has no worker for it.
            ClusterError: the engine will not have it.
        """
        left_s = run.order.not_after + CANCEL_S_MAX - time.time()
        with trio.move_on_after(max(left_s, 0)):
            is_over = False
            try:
                while True:
                    with self._figures.measure(Stage.TURN):
                        await run.turn.wait()
                    end = await self._ask(run)
                    told = await self._after_loss(run, end) if isinstance(end, Lost) else end
                    if told is not None:
                        is_over = True
                        return told
            finally:
                if not is_over and not run.is_left:  # cancelled, too late, or given up
                    await self._cancel(run)
        waited = f"no worker had an answer within {self._settings.wait_s:,.0f} s of its acceptance"
        return run.end(Status.SANDBOX_UNAVAILABLE, waited)

    async def _ask(self, run: SentRun) -> Completed | Lost:
        """Have the engine do a run, asking until it answers."""
        silent_since, pause_s = float("inf"), BACK_OFF_S[0]
        while True:
            try:
                with self._figures.measure(Stage.ENGINE):
                    engine = await self._connection.engine()
                    found = await self._submit_and_wait(run, engine)
                if isinstance(found, Lost):
                    return found
                with self._figures.measure(Stage.BACK):
                    return await self._take(run, engine, found)
            except UnreachableError as error:
                now = trio.current_time()
                silent_since = min(silent_since, now)
                self._bear(run, error, now - silent_since)
                await trio.sleep(pause_s)
                pause_s = min(2 * pause_s, BACK_OFF_S[1])

    async def _submit_and_wait(self, run: SentRun, engine: DaskRuns) -> Delivery | Lost:
        is_noted = run.is_submitted
        if not run.is_submitted:
            await engine.submit(run.id, run.sealed, run.order.needs, run.order.timeout_s)
            run.is_submitted, run.place = True, self._settings.url
            self._figures.sent[run.order.owner] += 1
        return await self._wait(run, engine, is_noted=is_noted)

    async def _wait(self, run: SentRun, engine: DaskRuns, *, is_noted: bool) -> Delivery | Lost:
        """Wait for a run's end. Meanwhile note that the engine has it, and tell what delays it.

        A front that dies before that is noted sends the run again, and joins it.
        """
        ended: list[Delivery | Lost | UnreachableError] = []
        telling = trio.CancelScope()

        async def wait() -> None:
            try:
                ended.append(await engine.wait(run.id))
            except UnreachableError as error:
                ended.append(error)
            telling.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            if not is_noted:
                await self._journal.note_sent(run.id)
            with telling:
                await self._tell_delays(run, engine)
        (end,) = ended
        if isinstance(end, UnreachableError):
            raise end
        return end

    async def _tell_delays(self, run: SentRun, engine: DaskRuns) -> None:
        """Say why no worker begins a run, until one does. Of many, one is said for all."""
        while True:
            await trio.sleep(DELAY_S)
            with suppress(UnreachableError):  # whoever waits meets that, too
                why = await engine.find_delay(run.id)
                run.place = f"{self._settings.url}: {why}" if why else self._settings.url
                if not why:
                    return
                if self._told_at <= trio.current_time() - DELAY_S / 2:
                    self._told_at = trio.current_time()
                    log.warning("a run waits for a worker since %.0f s: %s", run.elapsed_s, why)

    async def _take(self, run: SentRun, engine: DaskRuns, found: Delivery) -> Completed | Lost:
        try:
            return await self._receive(run, engine, found)
        except (OutcomeError, FormError) as error:
            return Lost(run.id, Cause.WORKER, f"what it handed back: {error}", found.worker)
        except BlobError as error:
            return Lost(run.id, Cause.BLOB, str(error), found.worker)

    def _bear(self, run: SentRun, error: UnreachableError, silent_s: float) -> None:
        """Bear with an engine that does not answer, or give up.

        Raises:
            GiveUpError: that is what is set, or it was silent for too long.
        """
        patience_s = {
            Fallback.LOCAL: PATIENCE_S if run.was_sent else 0.0,
            Fallback.WAIT: math.inf if run.was_sent else self._settings.wait_s,
            Fallback.FAIL: 0.0,
        }
        if not run.is_left and silent_s >= patience_s[self._settings.fallback]:
            raise GiveUpError(f"the engine does not answer: {error}")

    async def _after_loss(self, run: SentRun, lost: Lost) -> Completed | None:
        """Have a lost run done again, in its turn; or say how it ended without an outcome."""
        run.is_submitted, run.place = False, "waits for another worker"
        if lost.cause is Cause.CANCELLED:
            return run.end(Status.CANCELLED, lost.detail or "it was ended at the engine")
        self._figures.lost[run.order.owner] += 1
        if lost.cause is Cause.WORKER:
            times = await self._journal.note_lost(run.id)
            if times >= LOST_MAX:
                why = f"its worker was lost {times} times: {lost.detail}"
                return run.end(Status.SANDBOX_ERROR, why)
        if lost.cause is Cause.BLOB and (why := await self._upload_again(run)):
            return run.end(Status.SANDBOX_ERROR, why)
        await trio.sleep(min(BACK_OFF_S[0] * 2**run.losses, BACK_OFF_S[1]))
        run.losses += 1
        self._line.send_again(run)
        return None

    async def _upload_again(self, run: SentRun) -> str:
        """Give the engine what it lost of a run's input; why that can't be, or nothing."""
        snapshot = await self._find_snapshot(run)
        if snapshot is None:
            return "the engine lost files of it, and the project is another one by now"
        try:
            engine = await self._connection.engine()
            gone = await engine.blobs.missing(snapshot.digests)
            await engine.blobs.put(snapshot.open_blobs(gone))
        except (BlobError, ChangedError, OSError) as error:
            return f"the engine lost files of it, which are others here by now: {error}"
        except UnreachableError:
            return ""  # the next try asks for them again
        return ""

    async def _cancel(self, run: SentRun) -> None:
        """End a run at the engine, as far as it answers."""
        if not run.is_submitted or not self._connection.is_open:
            return
        last = trio.current_time() + CANCEL_S_MAX
        # Where it can't be, the run ends by its own timeout.
        with trio.CancelScope(shield=True, deadline=last), suppress(UnreachableError, ClusterError):
            await (await self._connection.engine()).cancel(run.id)
