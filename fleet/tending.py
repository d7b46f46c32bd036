"""What a front does beside its runs: it takes over what dead fronts left, and keeps the books."""

from __future__ import annotations

import time
from functools import partial
from typing import Final

import trio

from executor.model import Status
from fleet.desk import Desk, Parts
from fleet.errors import ClusterError, UnreachableError
from fleet.forms import FormError
from fleet.fronts import is_front_alive
from fleet.journal import JournalError, Left
from fleet.model import Cause, Lost, Order, Ticket
from fleet.packing import repack
from fleet.sending import GiveUpError, told_as
from fleet.sent_run import SentRun
from fleet.turns import DAY_S

TURN_S: Final = 1.0
"""How often the line moves on by itself: an owner's day may have begun."""
ADOPT_S: Final = 15.0
KEEP_S: Final = 600.0
OUTCOMES_KEPT_S: Final = 7 * DAY_S


async def tend(desk: Desk, parts: Parts) -> None:
    """Do what is to be done beside the runs, until cancelled."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_move_on, parts)
        nursery.start_soon(_keep_alive, desk)
        await parts.journal.prune(time.time() - OUTCOMES_KEPT_S)
        while True:
            for left in await parts.journal.adopt(partial(is_front_alive, parts.fronts)):
                nursery.start_soon(_finish_left, desk, parts, left)
            await trio.sleep(ADOPT_S)


async def _move_on(parts: Parts) -> None:
    while True:
        await trio.sleep(TURN_S)
        parts.line.move_on()


async def _keep_alive(desk: Desk) -> None:
    while True:
        await trio.sleep(KEEP_S)
        try:
            await desk.keep_alive()
        except (ClusterError, UnreachableError):
            continue  # each run meets it by itself


async def _finish_left(desk: Desk, parts: Parts, left: Left) -> None:
    """Bring a run to its end that a dead front had accepted, and keep what it printed.

    What it changed is kept for a person: whoever wanted it in the project is gone.
    """
    try:
        run = await _read_left(parts, left)
    except (FormError, JournalError) as error:
        await parts.journal.finish(left.run, Lost(left.run, Cause.ENGINE, str(error)).encode())
        return
    completed, lost = None, Lost(run.id, Cause.ENGINE, "the front ended")
    try:
        parts.line.join(run) if run.ticket else parts.line.add(run)
        try:
            completed = await desk.bring_to_end(run)
        except (GiveUpError, ClusterError) as error:
            completed = told_as(run, Status.SANDBOX_UNAVAILABLE, str(error))
    except trio.Cancelled:
        parts.line.leave(run)
        raise  # the next front goes on with it
    await desk.close(run, completed, lost)
    await parts.keep(run.order.request, completed)


async def _read_left(parts: Parts, left: Left) -> SentRun:
    """A run as the journal has it.

    Raises:
        FormError: its order can't be read by this release.
    """
    sealed = await parts.journal.read_order(left.run)
    order = Order.decode((sealed or b"").partition(b"\n")[2])
    ticket = Ticket.decode(left.ticket.encode()) if left.ticket else None
    label = f"{order.request.language}: left by another front"
    run = SentRun(order, repack(order, sealed or b"", {}).placement, label, is_left=True)
    run.ticket = ticket
    return run
