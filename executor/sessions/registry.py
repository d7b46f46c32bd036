"""The sessions of one server: found by name, limited in number, ended if nobody uses them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from executor.engine.engine import Completed
from executor.model import RequestError
from executor.run.runner import Runner, open_network

if TYPE_CHECKING:
    from executor.run.execution import Execution
    from executor.sessions.call import SessionPackages
    from executor.sessions.session import Session

    Attended = tuple[Session, list[int]]


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Limits: the number of sessions, their idle time, and their age."""

    count: int = 8
    idle_s: float = 30 * 60
    life_s: float = 8 * 3600


class Sessions:
    """The open sessions. Only `open_sessions` makes it."""

    def __init__(
        self,
        runner: Runner,
        binds: tuple[str, ...],
        limits: SessionLimits,
        nursery: trio.Nursery,
    ) -> None:
        self._nursery = nursery
        self._is_served = False
        self._runner = runner
        self._binds = binds
        self._limits = limits
        self._open: dict[str, Session] = {}
        self._endings: dict[str, str] = {}  # why sessions ended, until their names are used again
        self._used = trio.Event()
        self._attend, self._to_attend = trio.open_memory_channel["Attended"](limits.count)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of open sessions, the one used longest ago first."""
        return tuple(sorted(self._open, key=lambda name: self._open[name].used_at))

    async def call(
        self, name: str, call: Execution, packages: SessionPackages | None = None
    ) -> Completed:
        """Run one call of the session of that name; start the session if it does not exist.

        `packages` are those that the call names. Calls of one session take turns. Cancelling a
        call ends its session.

        Raises:
            RequestError: the session cannot serve this call, or there are too many.
            PackagesError: its packages cannot be fetched, or were changed on disk.
            OSError: the output cannot be spooled.
        """
        if not self._is_served:
            self._is_served = True
            self._nursery.start_soon(self.expire)
            self._nursery.start_soon(self.attend)
        if call.checked.request.fresh:
            await self._end(name, "")
        while True:
            await self._make_room(name, call.checked.request.owner)
            from executor.sessions.session import Session  # noqa: PLC0415 - most servers have none

            made = Session(self._runner, self._binds, call.checked, packages)
            session = self._open.setdefault(name, made)
            async with session.lock:
                await self._have_packages(name, session)  # which needs no turn
                async with self._runner.turn(call.checked.request.owner):
                    if not session.over and await session.is_outdated():
                        why = "the project's secret files have changed"
                        await self._dispose(name, session, why)
                    if session.over:  # perhaps while this call was waiting for its turn
                        continue
                    session.check(call)
                    return await self._serve(name, session, call)

    async def interrupt(self, name: str) -> bool:
        """Interrupt the program that runs in a session, as Ctrl-C does; return whether one runs.

        Raises:
            SandboxError: the session's box is gone.
        """
        session = self._open.get(name)
        return session is not None and await session.interrupt()

    async def _have_packages(self, name: str, session: Session) -> None:
        try:
            await session.have_packages()
        except BaseException:
            self._open.pop(name, None)
            raise

    async def _serve(self, name: str, session: Session, call: Execution) -> Completed:
        with self._runner.progress(call.checked.profile, call.on_output) as progress:
            if ending := self._endings.pop(name, ""):
                progress.session = f"started: the previous one has ended, because {ending}"
            try:
                result = await session.call(call, progress, self._attend.send_nowait)
            finally:
                if session.over:
                    self._open.pop(name, None)
                self._used.set()
        return progress.complete(result)

    async def _end(self, name: str, reason: str) -> None:
        """End a session; the next caller gets the reason, unless it knows it."""
        session = self._open.get(name)
        if session is not None:
            async with session.lock:
                await self._dispose(name, session, reason)

    async def _dispose(self, name: str, session: Session, reason: str) -> None:
        if session.over:
            return
        session.over = reason or "it was asked to"
        del self._open[name]
        if reason:
            self._endings[name] = f"{reason}{session.losses}"
        await session.close()

    async def end_owner(self, owner: str) -> None:
        """End all sessions of a client that is gone."""
        for name in self._list_owned(owner):
            await self._end(name, "")

    def _list_owned(self, owner: str) -> list[str]:
        return [name for name in self.names if self._open[name].owner == owner]

    async def _make_room(self, name: str, owner: str) -> None:
        """Make room for a client's new session: end the one that it used longest ago if necessary.

        Raises:
            RequestError: all of them are busy.
        """
        while name not in self._open and len(own := self._list_owned(owner)) >= self._limits.count:
            idle = [other for other in own if not self._open[other].lock.locked()]
            if not idle:
                raise RequestError(
                    f"{len(own)} sessions are busy, which is the limit",
                    "Wait for a call to end, or use one of them.",
                )
            await self._end(idle[0], f"more than {self._limits.count} sessions were in use")

    async def expire(self) -> None:
        """End sessions that were idle or open for too long, until cancelled."""
        while True:
            self._used = trio.Event()
            now = trio.current_time()
            due = {name: self._due(session) for name, session in self._open.items()}
            for name, (at, reason) in due.items():
                session = self._open.get(name)
                if session and at <= now and not session.lock.locked():
                    await self._end(name, reason)
            next_at = min((at for at, _ in due.values() if at > now), default=float("inf"))
            with trio.move_on_at(next_at):
                await self._used.wait()

    def _due(self, session: Session) -> tuple[float, str]:
        idle_at = session.used_at + self._limits.idle_s
        old_at = session.opened_at + self._limits.life_s
        if idle_at <= old_at:
            return idle_at, f"nobody used it for {self._limits.idle_s:g} s"
        return old_at, f"it was {self._limits.life_s:g} s old"

    async def attend(self) -> None:
        """Serve the listening sockets of sessions' boxes, until cancelled."""
        async with trio.open_nursery() as nursery:
            async for session, listeners in self._to_attend:
                nursery.start_soon(_serve_network, session, listeners)

    async def close(self) -> None:
        """End all of them at once."""
        async with trio.open_nursery() as nursery:
            for session in self._open.values():
                nursery.start_soon(session.close)


async def _serve_network(session: Session, listeners: list[int]) -> None:
    with session.scope:
        async with trio.open_nursery() as nursery:
            open_network(listeners, session.gate, nursery)


@contextlib.asynccontextmanager
async def open_sessions(
    runner: Runner, binds: tuple[str, ...], limits: SessionLimits
) -> AsyncIterator[Sessions]:
    """Open a server's sessions; end them when the block ends."""
    async with trio.open_nursery() as nursery:
        sessions = Sessions(runner, binds, limits, nursery)
        try:
            yield sessions
        finally:
            if sessions.names:
                with trio.CancelScope(shield=True):
                    await sessions.close()
            nursery.cancel_scope.cancel()
