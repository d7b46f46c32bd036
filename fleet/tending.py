"""A front's work beside its runs: it shows that it lives, and takes over what dead fronts left."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import trio

from base.locks import hold_lock, is_held
from executor.engine.engine import Completed
from executor.errors import RequestError, SandboxUnavailableError
from executor.model import Request, Status
from fleet import forms
from fleet.forms import FormError
from fleet.model import Cause, Lost, Order
from fleet.sending import GiveUpError, Sending
from fleet.sent_run import SentRun
from fleet.turns import DAY_S, Turns

log = logging.getLogger(__name__)
TURN_S: Final = 1.0
"""How often the line moves on by itself: an owner's day may have begun."""
ADOPT_S: Final = 15.0
OUTCOMES_KEPT_S: Final = 7 * DAY_S

KeepAdopted = Callable[[Request, Completed], Awaitable[object]]
"""Takes the outcome of a run that a dead front left: nobody waits for it."""


@contextlib.contextmanager
def join_fronts(folder: Path) -> Iterator[str]:
    """Be one of the fronts of a folder for a block; the name of this one.

    Raises:
        OSError: the folder can't be written.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = f"{os.getpid()}-{secrets.token_hex(4)}"
    path = _lock_of(folder, name)
    with hold_lock(path):
        try:
            yield name
        finally:
            path.unlink(missing_ok=True)


def is_front_alive(folder: Path, name: str) -> bool:
    """Tell whether the process of a front lives, and remove the lock of a dead one."""
    path = _lock_of(folder, name)
    if not path.exists():
        return False
    if is_held(path):
        return True
    path.unlink(missing_ok=True)
    return False


def _lock_of(folder: Path, name: str) -> Path:
    return folder / f"{os.path.basename(name)}.lock"


async def tend(sending: Sending, fronts: Path, keep: KeepAdopted) -> None:
    """Do what is to be done beside the runs, until cancelled. `fronts` has the fronts' locks."""
    journal = sending.desk.journal
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_move_on, sending.turns)
        with _reported("old outcomes"):
            await journal.prune(time.time() - OUTCOMES_KEPT_S)
        while True:
            with _reported("what other fronts left"):
                left = await journal.adopt(partial(is_front_alive, fronts))
                for run_id, is_sent in left.items():
                    nursery.start_soon(_finish_left, sending, run_id, is_sent, keep)
            await trio.sleep(ADOPT_S)


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
            order = Order.decode(sealed.partition(b"\n")[2])
        except FormError as error:  # of another release
            lost = Lost(run_id, Cause.ENGINE, str(error))
            await journal.finish(run_id, forms.encode(lost))
            return
        label = f"{order.request.language}: left by another front"
        run = SentRun(order, sealed, label, is_left=True, is_submitted=is_sent)
        try:
            put = turns.join if is_sent else turns.add
            put(run.id, order.owner, time.time())
            completed = await _end_left(sending, run)
        except BaseException:
            turns.leave(run.id, time.time())  # the next front goes on with it
            turns.move_on(time.time())
            raise
        await sending.close(run, completed, Lost(run.id, Cause.ENGINE))
        await keep(order.request, completed)


async def _end_left(sending: Sending, run: SentRun) -> Completed:
    """Follow a run to its end; whatever prevents that is one."""
    try:
        return await sending.bring_to_end(run)
    except (GiveUpError, RequestError) as error:
        return run.end(Status.SANDBOX_UNAVAILABLE, str(error))
    except (SandboxUnavailableError, OSError) as error:
        return run.end(Status.SANDBOX_ERROR, str(error))
