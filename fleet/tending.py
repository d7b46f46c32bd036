"""A front's work beside its runs: it shows that it lives, and takes over what dead fronts left."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import trio

from base.locks import hold_lock, is_held
from executor.engine.engine import Completed
from executor.errors import RequestError, SandboxUnavailableError
from executor.model import Status
from fleet import forms
from fleet.desk import Desk
from fleet.forms import FormError
from fleet.journal import Left, State
from fleet.model import Cause, Lost, Order
from fleet.sending import GiveUpError, Parts
from fleet.sent_run import SentRun
from fleet.turns import DAY_S

log = logging.getLogger(__name__)
TURN_S: Final = 1.0
"""How often the line moves on by itself: an owner's day may have begun."""
ADOPT_S: Final = 15.0
OUTCOMES_KEPT_S: Final = 7 * DAY_S


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


async def tend(desk: Desk, parts: Parts) -> None:
    """Do what is to be done beside the runs, until cancelled."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_move_on, parts)
        nursery.start_soon(_prune, parts)
        while True:
            with _reported("what other fronts left"):
                for left in await parts.journal.adopt(partial(is_front_alive, parts.fronts)):
                    nursery.start_soon(_finish_left, desk, parts, left)
            await trio.sleep(ADOPT_S)


@contextlib.contextmanager
def _reported(what: str) -> Iterator[None]:
    """Say what fails beside the runs, which go on."""
    try:
        yield
    except Exception as error:
        log.warning("the fleet's journal: %s: %s", what, error)


async def _prune(parts: Parts) -> None:
    with _reported("old outcomes"):
        await parts.journal.prune(time.time() - OUTCOMES_KEPT_S)


async def _move_on(parts: Parts) -> None:
    while True:
        await trio.sleep(TURN_S)
        parts.line.move_on()


async def _finish_left(desk: Desk, parts: Parts, left: Left) -> None:
    """Bring a run to its end that a dead front had accepted, and keep what it printed.

    What it changed is committed where the list of its project's files is still at the engine; else
    it is kept for a person.
    """
    with _reported(f"run {left.run}"):
        try:
            run = await _read_left(parts, left)
        except FormError as error:
            lost = Lost(left.run, Cause.ENGINE, str(error))
            await parts.journal.finish(left.run, forms.encode(lost))
            return
        try:
            parts.line.join(run) if run.is_submitted else parts.line.add(run)
            completed = await _end_left(desk, run)
        except BaseException:
            parts.line.leave(run)  # the next front goes on with it
            raise
        await desk.close(run, completed, Lost(run.id, Cause.ENGINE))
        await parts.keep(run.order.request, completed)


async def _end_left(desk: Desk, run: SentRun) -> Completed:
    """Follow a run to its end; whatever prevents that is one."""
    try:
        return await desk.bring_to_end(run)
    except (GiveUpError, RequestError) as error:
        return run.end(Status.SANDBOX_UNAVAILABLE, str(error))
    except (SandboxUnavailableError, OSError) as error:
        return run.end(Status.SANDBOX_ERROR, str(error))


async def _read_left(parts: Parts, left: Left) -> SentRun:
    """A run as the journal has it.

    Raises:
        FormError: its order can't be read by this release.
    """
    sealed = await parts.journal.read_order(left.run) or b""
    order = forms.decode(Order, sealed.partition(b"\n")[2])
    label = f"{order.request.language}: left by another front"
    is_submitted = left.state is State.SENT
    return SentRun(order, sealed, label, is_left=True, is_submitted=is_submitted)
