"""The dispatch of runs to workers: their return, losses, and runs that dead fronts left."""

from __future__ import annotations

import contextlib
import logging
import math
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

from executor import Completed, Request, RequestError, SandboxUnavailableError, Status
from executor.engine import Observe, OnOutput
from executor.instance import is_alive
from fleet import model
from fleet.cluster import ClusterError, Fallback, UnreachableError, single_error
from fleet.journal import JournalError
from fleet.model import Cause, Delivery, FormError, Lost, Order, OutcomeError
from fleet.order_desk import Desk, SentRun, Stage
from fleet.result_import import Landing
from fleet.tree import BlobError
from fleet.turns import DAY_S, Turns

if TYPE_CHECKING:
    from fleet.dask.client import DaskRuns


log = logging.getLogger(__name__)

LOST_MAX: Final = 3
"""Limit of workers that one run may cost: a run that loses so many is what kills them."""

PATIENCE_S: Final = 10.0
"""Time that an engine may be silent before its run is done here instead."""
DELAY_S: Final = 60.0
"""The time and interval of waiting for an outcome before asking if a worker has started."""
BACK_OFF_S: Final = (0.2, 10.0)
CANCEL_S_MAX: Final = 5.0
"""Time limit for ending a run at the engine when nobody waits for it any more."""
_PIECE_BYTES: Final = 256 * 1024


class GiveUpError(Exception):
    """The fleet does not finish this run; it may be run here, if anybody waits."""


class Sending:
    """The dispatch of accepted runs, each in its turn."""

    def __init__(self, desk: Desk, turns: Turns) -> None:
        self.desk = desk
        self.turns = turns
        self._told_at = -math.inf
        self._landings: set[Path] = set()

    async def follow(self, run: SentRun, observe: Observe | None = None) -> Completed:
        """Follow an accepted run to its end. Cancelling ends it, too.

        `observe` gets the run at once.

        Raises:
            GiveUpError: the fleet does not finish the run.
            ClusterError: the engine rejects it.
        """
        completed: Completed | None = None
        try:
            self.turns.add(run.id, run.order.owner, time.time())
            if observe:
                observe(run)
            with run.scope:
                completed = await self.bring_to_end(run)
            if completed is None:
                why = "it was stopped before its worker answered"
                completed = run.end(run.stopped or Status.CANCELLED, why)
            return completed
        finally:
            await self.close(run, completed)

    async def bring_to_end(self, run: SentRun) -> Completed:
        """Wait for a run's turn, send it, and take the answer.

        It retries until the order expires. Cancelling ends the run at the engine, except for one
        that a dead front left: the next front continues it.

        Raises:
            GiveUpError: the engine is silent, or has no worker for it.
            ClusterError: the engine rejects it.
        """
        left_s = run.order.not_after + CANCEL_S_MAX - time.time()
        with trio.move_on_after(max(left_s, 0)):
            try:
                while True:
                    with self.desk.figures.measure(Stage.TURN):
                        self.turns.move_on(time.time())
                        await self.turns.wait(run.id)
                    end = await self._ask(run)
                    told = await self._after_loss(run, end) if isinstance(end, Lost) else end
                    if told is not None:
                        return told
            except BaseException:  # cancelled, too late, or given up
                if not run.is_left:
                    await self._cancel(run)
                raise
        waited_s = self.desk.settings.wait_s
        waited = f"no worker answered within {waited_s:,.0f} s of its acceptance"
        return run.end(Status.SANDBOX_UNAVAILABLE, waited)

    async def _ask(self, run: SentRun) -> Completed | Lost:
        """Send a run to the engine, and retry until it answers."""
        silent_since, pause_s = float("inf"), BACK_OFF_S[0]
        while True:
            try:
                with self.desk.figures.measure(Stage.ENGINE):
                    engine = await self.desk.connection.engine()
                    found = await self._submit_and_wait(run, engine)
                if isinstance(found, Lost):
                    return found
                with self.desk.figures.measure(Stage.BACK):
                    return await self._receive(run, engine, found)
            except UnreachableError as error:
                now = trio.current_time()
                silent_since = min(silent_since, now)
                self._bear(run, error, now - silent_since)
                await trio.sleep(pause_s)
                pause_s = min(2 * pause_s, BACK_OFF_S[1])

    async def _submit_and_wait(self, run: SentRun, engine: DaskRuns) -> Delivery | Lost:
        """Submit a run, and wait for its end. In the meantime, note that the engine has it, and
        report delays.

        A front that dies before that is noted sends the run again, and joins it.

        Raises:
            JournalError: the journal cannot be written.
            UnreachableError: the engine does not answer.
        """
        is_new = not run.is_submitted
        if is_new:
            await engine.submit(run.id, run.sealed, run.order.needs, run.order.timeout_s)
            run.is_submitted, run.place = True, self.desk.settings.url
            self.desk.figures.sent[run.order.owner] += 1
        with single_error():
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._tell_delays, run, engine)
                if is_new:  # which is not cancelled
                    nursery.start_soon(self.desk.journal.note_sent, run.id)
                end = await engine.wait(run.id)
                nursery.cancel_scope.cancel()
        return end

    async def _tell_delays(self, run: SentRun, engine: DaskRuns) -> None:
        """Report why no worker starts a run, until one does; one report stands for many runs."""
        url = self.desk.settings.url
        while True:
            await trio.sleep(DELAY_S)
            with suppress(UnreachableError):  # the caller that waits gets that error, too
                why = await engine.find_delay(run.id)
                run.place = f"{url}: {why}" if why else url
                if not why:
                    return
                if self._told_at <= trio.current_time() - DELAY_S / 2:
                    self._told_at = trio.current_time()
                    log.warning("a run has waited for a worker for %.0f s: %s", run.elapsed_s, why)

    async def _receive(self, run: SentRun, engine: DaskRuns, found: Delivery) -> Completed | Lost:
        """Make a result of a worker's answer, and commit its changes."""
        local = self.desk.local
        landing = Landing(
            found,
            engine.blobs,
            run.order,
            self._make_landing(),
            local.inline_bytes,
            local.commits,
            run.label,
            run.record,
            run.unseen,
        )
        try:
            completed = await landing.bring_back()
        except (OutcomeError, FormError) as error:
            return Lost(run.id, Cause.WORKER, f"its answer: {error}", found.worker)
        except BlobError as error:
            return Lost(run.id, Cause.BLOB, str(error), found.worker)
        run.record = None  # closed with the commit
        self.desk.figures.bytes_back += sum(one.size_bytes for one in found.files.values())
        if run.on_output:
            await _tell_output(completed, run.on_output)
        return replace(completed, result=replace(completed.result, verdict=run.order.verdict))

    def _make_landing(self) -> Path:
        """Make a new folder for an answer, after deleting those that are no longer needed."""
        for folder in tuple(self._landings):
            with suppress(OSError):
                folder.rmdir()
                self._landings.discard(folder)
        folder = self.desk.local.spools / f"fleet-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        self._landings.add(folder)
        return folder

    def _bear(self, run: SentRun, error: UnreachableError, silent_s: float) -> None:
        """Wait for an engine that does not answer, or give up.

        Raises:
            GiveUpError: the settings say so, or it was silent for too long.
        """
        settings, was_sent = self.desk.settings, run.is_submitted or run.losses > 0
        patience_s = {
            Fallback.LOCAL: PATIENCE_S if was_sent else 0.0,
            Fallback.WAIT: math.inf if was_sent else settings.wait_s,
            Fallback.FAIL: 0.0,
        }
        if not run.is_left and silent_s >= patience_s[settings.fallback]:
            raise GiveUpError(f"the engine does not answer: {error}")

    async def _after_loss(self, run: SentRun, lost: Lost) -> Completed | None:
        """Send a lost run again, in its turn; or return how it ended without an outcome."""
        run.is_submitted, run.place = False, "waits for another worker"
        if lost.cause is Cause.CANCELLED:
            return run.end(Status.CANCELLED, lost.detail or "it was ended at the engine")
        self.desk.figures.lost[run.order.owner] += 1
        if lost.cause is Cause.WORKER:
            times = await self.desk.journal.note_lost(run.id)
            if times >= LOST_MAX:
                why = f"its worker was lost {times} times: {lost.detail}"
                return run.end(Status.SANDBOX_ERROR, why)
        if lost.cause is Cause.BLOB and (why := await self.desk.upload_again(run)):
            return run.end(Status.SANDBOX_ERROR, why)
        await trio.sleep(min(BACK_OFF_S[0] * 2**run.losses, BACK_OFF_S[1]))
        run.losses += 1
        self.turns.send_again(run.id, time.time())
        return None

    async def _cancel(self, run: SentRun) -> None:
        """End a run at the engine if it answers."""
        connection = self.desk.connection
        if not run.is_submitted or not connection.is_open:
            return
        last = trio.current_time() + CANCEL_S_MAX
        # If that fails, the run ends by its own timeout.
        with trio.CancelScope(shield=True, deadline=last), suppress(UnreachableError, ClusterError):
            await (await connection.engine()).cancel(run.id)

    async def close(self, run: SentRun, completed: Completed | None) -> None:
        """Note a run's end, whatever ended it, and give its place to the next."""
        cpu_s = completed.result.usage.cpu_s if completed else 0.0
        owner, figures = run.order.owner, self.desk.figures
        with trio.CancelScope(shield=True):
            self.turns.leave(run.id, time.time(), cpu_s)
            self.turns.move_on(time.time())
            if run.record is not None:
                run.record.close()
            try:
                is_first = await self.desk.journal.finish(run.id, cpu_s)
            except JournalError as error:  # the next front may do it again: only one outcome counts
                log.warning("cannot record the end of run %s: %s", run.id, error)
                return
        (figures.done if is_first else figures.duplicates)[owner] += 1


async def _tell_output(completed: Completed, on_output: OnOutput) -> None:
    """Pass the whole of both streams on, stdout first: the order in which they came is not known.

    Raises:
        OSError: a spool cannot be read.
    """
    streams = (
        ("stdout", completed.result.stdout, completed.stdout_spool),
        ("stderr", completed.result.stderr, completed.stderr_spool),
    )
    for name, stream, spool in streams:
        data = stream.head.encode()
        if spool is not None:
            data = await trio.to_thread.run_sync(spool.read_bytes)
        for at in range(0, len(data), _PIECE_BYTES):
            on_output(name, data[at : at + _PIECE_BYTES])


TURN_S: Final = 1.0
"""Interval at which the queue moves on by itself: an owner's day may have started."""
ADOPT_S: Final = 15.0
DONE_KEPT_S: Final = 7 * DAY_S

KeepAdopted = Callable[[Request, Completed], Awaitable[object]]
"""Takes the outcome of a run that a dead front left: nobody waits for it."""


async def tend(sending: Sending, keep: KeepAdopted) -> None:
    """Do the maintenance next to the runs, until cancelled."""
    journal, locks = sending.desk.journal, sending.desk.local.instance.folder
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_move_on, sending.turns)
        with _reported("old runs"):
            await journal.prune(time.time() - DONE_KEPT_S)
        while True:
            with _reported("what other fronts left"):
                left = await journal.adopt(partial(is_alive, locks))
                for run_id, is_sent in left.items():
                    nursery.start_soon(_finish_left, sending, run_id, is_sent, keep)
            await trio.sleep(ADOPT_S)


@contextlib.contextmanager
def _reported(what: str) -> Iterator[None]:
    """Log failures of the maintenance; runs continue."""
    try:
        yield
    except Exception as error:
        log.warning("the fleet's journal: %s: %s", what, error)


async def _move_on(turns: Turns) -> None:
    while True:
        await trio.sleep(TURN_S)
        turns.move_on(time.time())


async def _finish_left(sending: Sending, run_id: str, is_sent: bool, keep: KeepAdopted) -> None:
    """Finish a run that a dead front had accepted, and store its output.

    Its changes are held for review: the earlier state of the project is not known any more.
    """
    journal, turns = sending.desk.journal, sending.turns
    with _reported(f"run {run_id}"):
        sealed = await journal.read_order(run_id) or b""
        try:
            order = model.decode(Order, sealed.partition(b"\n")[2])
        except FormError:  # of another release
            await journal.finish(run_id)
            raise
        label = f"{order.request.language}: left by another front"
        run = SentRun(order, sealed, label, is_left=True, is_submitted=is_sent)
        put = turns.join if is_sent else turns.add
        put(run.id, order.owner, time.time())
        try:
            completed = await sending.bring_to_end(run)
        except RequestError as error:
            completed = run.end(Status.SANDBOX_UNAVAILABLE, str(error))
        except (SandboxUnavailableError, OSError) as error:
            completed = run.end(Status.SANDBOX_ERROR, str(error))
        except BaseException:
            turns.leave(run.id, time.time())  # the next front continues it
            turns.move_on(time.time())
            raise
        await sending.close(run, completed)
        await keep(order.request, completed)
