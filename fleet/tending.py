"""A front's work beside its runs: it takes over what dead fronts left, and forgets what is old."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import trio

from base.locks import is_held
from executor.engine.engine import Completed
from executor.errors import RequestError, SandboxUnavailableError
from executor.model import Request, Status
from fleet import forms
from fleet.forms import FormError
from fleet.model import Order
from fleet.sending import Sending
from fleet.sent_run import SentRun
from fleet.turns import DAY_S, Turns

log = logging.getLogger(__name__)
TURN_S: Final = 1.0
"""How often the line moves on by itself: an owner's day may have begun."""
ADOPT_S: Final = 15.0
DONE_KEPT_S: Final = 7 * DAY_S

KeepAdopted = Callable[[Request, Completed], Awaitable[object]]
"""Takes the outcome of a run that a dead front left: nobody waits for it."""


async def tend(sending: Sending, keep: KeepAdopted) -> None:
    """Do what is to be done beside the runs, until cancelled."""
    journal, locks = sending.desk.journal, sending.desk.local.instance.folder
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_move_on, sending.turns)
        with _reported("old runs"):
            await journal.prune(time.time() - DONE_KEPT_S)
        while True:
            with _reported("what other fronts left"):
                left = await journal.adopt(partial(_is_alive, locks))
                for run_id, is_sent in left.items():
                    nursery.start_soon(_finish_left, sending, run_id, is_sent, keep)
            await trio.sleep(ADOPT_S)


def _is_alive(locks: Path, front: str) -> bool:
    """Tell whether the instance that is a front lives: a dead one's lock is free, or gone."""
    with contextlib.suppress(FileNotFoundError):
        return is_held(locks / f"{os.path.basename(front)}.lock")
    return False


@contextlib.contextmanager
def _reported(what: str) -> Iterator[None]:
    """Say what fails beside the runs, which go on."""
    try:
        yield
    except Exception as error:
        log.warning("the fleet's journal: %s: %s", what, error)


async def _move_on(turns: Turns) -> None:
    while True:
        await trio.sleep(TURN_S)
        turns.move_on(time.time())


async def _finish_left(sending: Sending, run_id: str, is_sent: bool, keep: KeepAdopted) -> None:
    """Bring a run to its end that a dead front had accepted, and keep what it printed.

    What it changed is kept for a person: what the project was before is not known any more.
    """
    journal, turns = sending.desk.journal, sending.turns
    with _reported(f"run {run_id}"):
        sealed = await journal.read_order(run_id) or b""
        try:
            order = forms.decode(Order, sealed.partition(b"\n")[2])
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
            turns.leave(run.id, time.time())  # the next front goes on with it
            turns.move_on(time.time())
            raise
        await sending.close(run, completed)
        await keep(order.request, completed)
