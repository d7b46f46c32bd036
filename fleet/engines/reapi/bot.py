"""Serving a Remote Execution server as a worker, by the Remote Workers API.

Of the servers that are known BuildGrid speaks it. A worker opens a session, and renews it before it
expires. The answer names the leases that are the worker's from then on: new ones are begun, and
those that are not named any more are ended, for somebody has cancelled them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any, Final

import grpc
import trio
from buildgrid.common.protos.google.devtools.remoteworkers.v1test2 import bots_pb2, bots_pb2_grpc

from fleet.doer import Doer
from fleet.engines.credentials import read_credentials
from fleet.engines.pauses import Pauses
from fleet.engines.reapi.blobs import RemoteBlobs
from fleet.engines.reapi.doing import Actions, UndoneError
from fleet.engines.reapi.opening import check_server
from fleet.engines.reapi.wire import ANSWER_S, CallError, Wire, open_wire
from fleet.engines.serving import Place, Serving
from fleet.errors import ClusterError, UnreachableError

RENEW_S: Final = 1.0
"""How often a session is renewed whose worker has all it can do: so late is a cancelling known."""
HELD_S: Final = 4.0
"""How long a server is asked to hold back its answer where it could end a run. BuildGrid takes no
less, and says then that one was cancelled."""
_LEAVE_S: Final = 2.0
# How a server says that it knows the session no more: what was under way is another's by then.
_GONE: Final = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.DATA_LOSS,
    grpc.StatusCode.FAILED_PRECONDITION,
}

log = logging.getLogger(__name__)


async def serve_reapi(place: Place, doer: Doer, how: Serving) -> None:
    """Serve one server; see `serve`."""
    pems = None if place.credentials is None else read_credentials(place.credentials)
    pauses = Pauses(how.leave)
    async with open_wire(place.address, pems) as wire:
        while True:
            try:
                batch_bytes = await check_server(wire, place.address)
                break
            except UnreachableError as error:
                if how.leave.is_set():
                    return
                await pauses.after(error)
        blobs = RemoteBlobs(wire, place.address.instance, batch_bytes)
        actions = Actions(blobs, doer, how.name, how.folder)
        bot = Bot(wire, place.address.instance, actions, how)
        try:
            await bot.serve()
        finally:
            await bot.give_back()


@dataclass(frozen=True, slots=True)
class _Run:
    """A lease that is being done."""

    lease: Any
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)


class Bot:
    """A worker of one server, and what the server has given it."""

    def __init__(self, wire: Wire, instance: str, actions: Actions, how: Serving) -> None:
        self._wire = wire
        self._bots = bots_pb2_grpc.BotsStub(wire.channel)
        self._instance = instance
        self._actions = actions
        self._how = how
        self._pauses = Pauses(how.leave)
        self._session: Any = None
        self._was_taken = False
        self._running: dict[str, _Run] = {}
        self._ended: dict[str, Any] = {}  # leases of which the server has not heard yet
        self._news = trio.Event()
        self._asking: trio.CancelScope | None = None

    async def serve(self) -> None:
        """Do what the server gives, until it is time to leave.

        Raises:
            ClusterError: the server refuses such a worker, and never took it.
        """
        refused = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch_leaving)
            while refused is None and not self._has_left():
                refused = await self._take_turn(nursery)
            nursery.cancel_scope.cancel()
        if refused is not None:
            raise refused

    async def give_back(self) -> None:
        """Tell the server that this worker leaves, and has not done what it had."""
        if self._session is None:
            return
        with trio.move_on_after(_LEAVE_S) as limit:
            limit.shield = True
            for run in self._running.values():
                self._end(run.lease, grpc.StatusCode.UNAVAILABLE.value[0], "the worker leaves")
            self._running.clear()
            try:
                await self._wire.ask(self._bots.UpdateBotSession, self._update(is_leaving=True))
            except CallError as error:
                log.info("the server did not hear that this worker leaves: %s", error)

    def _has_left(self) -> bool:
        return self._how.leave.is_set() and not self._running and not self._ended

    async def _watch_leaving(self) -> None:
        await self._how.leave.wait()
        self._tell()

    async def _take_turn(self, nursery: trio.Nursery) -> ClusterError | None:
        """Ask once, and begin what is given; a refusal for good, if that is the answer."""
        reported, began = frozenset(self._ended), trio.current_time()
        self._news = trio.Event()
        try:
            answer = await (self._create() if self._session is None else self._renew())
        except CallError as error:
            return await self._fail(error)
        self._pauses.reset()
        if answer is None:
            return None
        is_new = self._take(answer, reported, nursery)
        is_full = len(self._running) >= self._how.at_once or self._how.leave.is_set()
        # Some answers come at once, though there is nothing to say.
        is_idle = not reported and not is_new and trio.current_time() - began < RENEW_S / 2
        if is_full or is_idle:
            with trio.move_on_after(RENEW_S):
                await self._news.wait()
        return None

    async def _create(self) -> Any:  # noqa: ANN401 - protobuf's
        session = bots_pb2.BotSession(bot_id=self._how.name, status=bots_pb2.OK)
        session.worker.configs.add(key="capacity", value=str(self._how.at_once))
        device = session.worker.devices.add(handle=self._how.name)
        for key, value in self._how.properties:
            device.properties.add(key=key, value=value)
        request = bots_pb2.CreateBotSessionRequest(parent=self._instance, bot_session=session)
        self._session = await self._wire.ask(self._bots.CreateBotSession, request)
        self._was_taken = True
        return self._session

    async def _renew(self) -> Any:  # noqa: ANN401 - protobuf's
        """The server's answer to where all leases stand; None if one ended while it was awaited.

        A server holds its answer back while it has nothing to give.
        """
        request, answer = self._update(is_leaving=self._how.leave.is_set()), None
        if self._ended:
            return await self._wire.ask(self._bots.UpdateBotSession, request)
        held_s = HELD_S if self._running else ANSWER_S
        with trio.CancelScope() as self._asking:
            answer = await self._wire.ask(self._bots.UpdateBotSession, request, held_s)
        self._asking = None
        return answer

    def _update(self, *, is_leaving: bool) -> Any:  # noqa: ANN401 - protobuf's
        session = bots_pb2.BotSession()
        session.CopyFrom(self._session)
        session.status = bots_pb2.BOT_TERMINATING if is_leaving else bots_pb2.OK
        del session.leases[:]
        session.leases.extend(run.lease for run in self._running.values())
        session.leases.extend(self._ended.values())
        return bots_pb2.UpdateBotSessionRequest(name=session.name, bot_session=session)

    def _take(self, session: Any, reported: frozenset[str], nursery: trio.Nursery) -> bool:  # noqa: ANN401
        """Bring what is being done to what the server says; whether there is something new."""
        self._session = session
        for lease_id in reported:
            self._ended.pop(lease_id, None)
        wanted = (bots_pb2.PENDING, bots_pb2.ACTIVE)
        given = {lease.id: lease for lease in session.leases if lease.state in wanted}
        for lease_id in self._running.keys() - given.keys():
            log.info("the server takes back %s", lease_id)
            self._running.pop(lease_id).scope.cancel()
        new = given.keys() - self._running.keys() - self._ended.keys()
        for lease_id in new:
            lease = bots_pb2.Lease()
            lease.CopyFrom(given[lease_id])
            lease.state = bots_pb2.ACTIVE
            self._running[lease_id] = _Run(lease)
            nursery.start_soon(self._do, self._running[lease_id])
        return bool(new)

    async def _do(self, run: _Run) -> None:
        with run.scope:
            try:
                run.lease.result.Pack(await self._actions.do(run.lease.payload))
                code, message = 0, ""
            except UndoneError as error:
                code, message = error.code, str(error)
            # Else the server has taken it back, and perhaps given it again.
            if self._running.get(run.lease.id) is run:
                del self._running[run.lease.id]
                self._end(run.lease, code, message)
                self._tell()

    def _end(self, lease: Any, code: int, message: str) -> None:  # noqa: ANN401 - protobuf's
        lease.state = bots_pb2.COMPLETED
        lease.status.code = code
        lease.status.message = message
        self._ended[lease.id] = lease

    def _tell(self) -> None:
        """Have the server told what changed, without waiting for the answer that it holds back."""
        self._news.set()
        if self._asking is not None:
            self._asking.cancel()

    async def _fail(self, error: CallError) -> ClusterError | None:
        """Wait after a refusal, or hand it over where nothing else helps."""
        self._asking = None
        if not self._was_taken:
            if error.code is grpc.StatusCode.FAILED_PRECONDITION:
                message = f"the server takes no such worker: {error}"
                return ClusterError(message, "see its platform properties")
            if isinstance(refused := error.as_ours(), ClusterError):
                return refused
        if self._session is not None and error.code in _GONE:
            self._session = None
            self._pauses.reset()
            for run in self._running.values():
                run.scope.cancel()
            self._running.clear()
            self._ended.clear()
        await self._pauses.after(error)
        return None
