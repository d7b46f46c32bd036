"""Runs in the background: started, looked at later, stopped; none outlives the server."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import trio

from executor.engine.engine import Completed, RunProgress
from executor.model import Limits, Request, RequestError, Status, Stream
from executor.request import Caller

if TYPE_CHECKING:
    from executor.service import LocalEngine

T = TypeVar("T")

LIFE_S = 3600.0  # time limit of a run that sets none
RUNNING_MAX = 8
ENDED_MAX = 32  # how many ended runs are remembered
STOP_S_MAX = 5.0


@dataclass(frozen=True, slots=True)
class Background(Generic[T]):
    """The state of a run in the background."""

    id: str
    label: str
    running: bool  # the streams show its output so far
    wall_s: float
    stdout: Stream = field(default_factory=Stream)
    stderr: Stream = field(default_factory=Stream)
    answer: T | None = None  # its answer, once it has ended
    error: str = ""  # why there is no answer then
    is_first: bool = False  # nobody has received the answer before


@dataclass(slots=True, eq=False)
class _BackgroundEntry(Generic[T]):
    id: str
    request: Request
    caller: Caller | None = None
    begun: trio.Event = field(default_factory=trio.Event)
    done: trio.Event = field(default_factory=trio.Event)
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    progress: RunProgress | None = None
    answer: T | None = None
    failure: Exception | None = None
    is_answered: bool = False

    def observe(self, progress: RunProgress) -> None:
        self.progress = progress
        self.begun.set()


class Backgrounds(Generic[T]):
    """The runs in the background of one engine. Only `open_backgrounds` makes it."""

    def __init__(
        self,
        engine: LocalEngine,
        finish: Callable[[Request, Completed], Awaitable[T]],
        nursery: trio.Nursery,
    ) -> None:
        self._engine = engine
        self._finish = finish
        self._entries: dict[str, _BackgroundEntry[T]] = {}
        self._nursery = nursery

    async def start(self, request: Request, caller: Caller | None = None) -> Background[T]:
        """Start a run, and return once it continues by itself, or has ended already.

        It may take LIFE_S unless the request sets a limit. If a rule asks, the `caller` must
        approve before it starts.

        Raises:
            RequestError: it cannot be run as requested, or too many run already.
            OSError: its output cannot be spooled.
        """
        own = [entry for entry in self._entries.values() if entry.request.owner == request.owner]
        if sum(not entry.done.is_set() for entry in own) >= RUNNING_MAX:
            raise RequestError(
                f"{RUNNING_MAX} programs run in the background, which is the limit",
                "Stop one of them, or wait for its end.",
            )
        entry = _BackgroundEntry[T](f"bg-{secrets.token_hex(3)}", _lasting(request), caller)
        self._entries[entry.id] = entry
        self._nursery.start_soon(self._carry_out, entry)
        try:
            await entry.begun.wait()
        except trio.Cancelled:
            entry.scope.cancel()  # nobody will know its handle
            raise
        if entry.failure:
            del self._entries[entry.id]
            raise entry.failure
        self._forget_oldest(request.owner)
        return _answer(entry)

    async def look(self, handle: str, wait_s: float = 0, owner: str = "") -> Background[T]:
        """Return the state of a run, after it has ended or `wait_s` are over.

        Raises:
            RequestError: no run has this handle.
        """
        entry = self._entry(handle, owner)
        with trio.move_on_after(wait_s):
            await entry.done.wait()
        return _answer(entry)

    async def stop(self, handle: str, owner: str = "") -> Background[T]:
        """End a run; its output is kept.

        Raises:
            RequestError: no run has this handle.
        """
        entry = self._entry(handle, owner)
        if not entry.done.is_set():
            if entry.progress:
                await entry.progress.stop(Status.CANCELLED)
            with trio.move_on_after(STOP_S_MAX):
                await entry.done.wait()
            entry.scope.cancel()
            await entry.done.wait()
        return _answer(entry)

    def all(self, owner: str = "") -> tuple[Background[T], ...]:
        """Return every known run of this owner, in the order in which they were started."""
        return tuple(
            _view(entry)
            for entry in self._entries.values()
            if entry.begun.is_set() and entry.request.owner == owner
        )

    async def _carry_out(self, entry: _BackgroundEntry[T]) -> None:
        try:
            with entry.scope:
                completed = await self._engine.run(
                    entry.request, observe=entry.observe, caller=entry.caller
                )
                entry.answer = await self._finish(entry.request, completed)
        except Exception as error:  # callers get the error, and the other runs continue
            entry.failure = error
        finally:
            entry.begun.set()
            entry.done.set()

    def _entry(self, handle: str, owner: str) -> _BackgroundEntry[T]:
        entry = self._entries.get(handle)
        if entry is None or entry.request.owner != owner:
            known = ", ".join(one.id for one in self.all(owner)) or "none"
            raise RequestError(f"no background run {handle!r}", f"Known runs: {known}.")
        return entry

    async def end_owner(self, owner: str) -> None:
        """End and forget all runs of a client that is gone."""
        for handle, entry in list(self._entries.items()):
            if entry.request.owner == owner:
                await self.stop(handle, owner)
                del self._entries[handle]

    def _forget_oldest(self, owner: str) -> None:
        own = [entry for entry in self._entries.values() if entry.request.owner == owner]
        for entry in [entry for entry in own if entry.done.is_set()][:-ENDED_MAX]:
            del self._entries[entry.id]


def _lasting(request: Request) -> Request:
    """Return the request with a time limit for a run that nobody waits for."""
    life_s = LIFE_S if request.timeout_s is None else request.timeout_s
    limits = request.limits
    if limits is None:
        # As many processors may be busy all the time as for any other run.
        usual = Limits()
        limits = replace(usual, cpu_s=max(usual.cpu_s, life_s * usual.cpu_s / usual.wall_s))
    return replace(request, timeout_s=life_s, limits=limits, background=True)


def _answer(entry: _BackgroundEntry[T]) -> Background[T]:
    """Return the state of a run to its caller."""
    view = replace(_view(entry), is_first=entry.answer is not None and not entry.is_answered)
    entry.is_answered = entry.is_answered or view.is_first
    return view


def _view(entry: _BackgroundEntry[T]) -> Background[T]:
    progress, running = entry.progress, not entry.done.is_set()
    if progress is None:
        return Background(entry.id, "", running, 0.0, answer=entry.answer, error=_error(entry))
    return Background(
        entry.id,
        progress.label,
        running,
        progress.elapsed_s,
        progress.stream("stdout"),
        progress.stream("stderr"),
        entry.answer,
        _error(entry),
    )


def _error(entry: _BackgroundEntry[T]) -> str:
    if entry.failure is not None:
        return f"{type(entry.failure).__name__}: {entry.failure}"
    ended_without = entry.done.is_set() and entry.answer is None
    return "it was ended before it could report" if ended_without else ""


@contextlib.asynccontextmanager
async def open_backgrounds(
    engine: LocalEngine, finish: Callable[[Request, Completed], Awaitable[T]]
) -> AsyncIterator[Backgrounds[T]]:
    """Open the runs in the background of an engine; end active ones when the block ends.

    `finish` converts each result to the form that is kept.
    """
    async with trio.open_nursery() as nursery:
        yield Backgrounds(engine, finish, nursery)
        nursery.cancel_scope.cancel()
