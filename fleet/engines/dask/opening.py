"""Having a Dask cluster do orders: submit, wait, cancel."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import operator
import pkgutil
from collections.abc import AsyncIterator
from typing import Any, Final

import trio
from dask._task_spec import Task
from distributed import Client, Future, fire_and_forget
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker
from distributed.security import Security

from fleet.dispatcher import Blobs, Delivery, Dispatcher, Placement
from fleet.engines.address import Address
from fleet.engines.credentials import Credentials
from fleet.engines.dask.answers import Answers
from fleet.engines.dask.resources import resources_of
from fleet.engines.dask.task import CARRIED_BYTES_MAX, FUNCTION, SentOrder
from fleet.engines.dask.trust import quieten, security_of, try_out, url_of
from fleet.engines.file_blobs import FileBlobs
from fleet.engines.handed_back import check_contents, plain_path
from fleet.engines.side_loop import SideLoop, open_side_loop
from fleet.errors import OutcomeError, UnreachableError
from fleet.model import Cause, Lost, Ticket
from fleet.tree import Digest, TreeError

ENGINE: Final = "dask"
ANSWER_S: Final = 10.0
_DELAYS: Final = {
    "no-worker": "there is no worker of its kind",
    "queued": "all workers of its kind are busy",
}
_CANCELLED: Final = "cancelled by a front"


@contextlib.asynccontextmanager
async def open_dask(
    address: Address, credentials: Credentials | None, blobs_url: str
) -> AsyncIterator[Dispatcher]:
    """A scheduler, and the folder of its cluster's files.

    Raises:
        ClusterError: the credentials or the folder do not do.
        UnreachableError: the scheduler does not answer.
    """
    quieten()
    security = security_of(credentials)
    blobs = FileBlobs(blobs_url)
    await blobs.check()
    async with open_side_loop("dask") as loop:
        runs = DaskRuns(address, security, blobs, loop)
        try:
            await runs.connect()
            yield runs
        finally:
            await runs.close()


class DaskRuns:
    """A cluster that is open. What it does goes on when this front leaves, and is then dropped
    unless the next one waits for it."""

    def __init__(
        self, address: Address, security: Security | None, blobs: FileBlobs, loop: SideLoop
    ) -> None:
        self._address = address
        self._security = security
        self._blobs = blobs
        self._loop = loop
        self._lock = trio.Lock()
        self._futures: dict[str, Future[Any]] = {}
        self._answers: Answers | None = None

    @property
    def blobs(self) -> Blobs:
        """The cluster's files."""
        return self._blobs

    async def connect(self) -> Answers:
        """The scheduler's client with its answers, opened again where it was lost.

        Raises:
            ClusterError: the certificates do not do.
            UnreachableError: the scheduler does not answer.
        """
        async with self._lock:
            if self._answers is not None and self._answers.client.status == "running":
                return self._answers
            await self._disconnect()
            await try_out(self._address, self._security)
            try:
                self._answers = await self._loop.run(self._open)
            except (OSError, TimeoutError) as error:
                said = f"no scheduler at {self._address.target}: {error}"
                raise UnreachableError(said) from None
            return self._answers

    async def close(self) -> None:
        """Leave the cluster."""
        with trio.CancelScope(shield=True):
            await self._disconnect()

    async def submit(self, placement: Placement) -> Ticket | Lost:
        """Have an order accepted; see `Dispatcher`. The run's id is its key."""
        answers = await self.connect()
        client = answers.client
        sealed, order = placement.own[placement.order], placement.order
        sent: SentOrder = sealed
        if order.size_bytes > CARRIED_BYTES_MAX:
            await self._blobs.put({order: functools.partial(io.BytesIO, sealed)})
            sent = (order.hash, order.size_bytes)

        async def submit() -> Future[Any]:
            # Names that every Python knows: a scheduler need not have our modules.
            future: Future[Any] = client.submit(
                operator.call,
                Task("execute", pkgutil.resolve_name, FUNCTION),
                placement.run_id,
                sent,
                placement.timeout_s,
                client.id,
                key=placement.run_id,
                resources=resources_of(placement.properties),
                priority=-placement.priority,
                retries=0,
                pure=False,
                fifo_timeout="0 ms",
            )
            keep: Any = fire_and_forget
            keep(future)  # it goes on without this front, for the next one to join
            answers.expect(placement.run_id)
            return future

        self._futures[placement.run_id] = await self._loop.run(submit)
        return Ticket(placement.run_id, ENGINE, placement.run_id, placement.order)

    async def wait(self, ticket: Ticket) -> Delivery | Lost:
        """Wait for an order's end; see `Dispatcher`."""
        future = self._futures.get(ticket.name) or await self._join(ticket)
        if future is None:
            return Lost(ticket.run_id, Cause.ENGINE, "the scheduler knows no such run")
        try:
            answer = await self._wait(future)
        except FutureCancelledError as error:
            self._futures.pop(ticket.name, None)
            if error.reason == _CANCELLED:
                return Lost(ticket.run_id, Cause.CANCELLED, _CANCELLED)
            raise UnreachableError(f"the scheduler is lost: {error.reason}") from None
        except KilledWorker as error:
            lost = Lost(ticket.run_id, Cause.WORKER, str(error), str(error.last_worker.name))
        except UnreachableError:
            self._futures.pop(ticket.name, None)
            raise
        except Exception as error:
            lost = Lost(ticket.run_id, Cause.WORKER, f"{type(error).__name__}: {error}")
        else:
            self._forget(ticket)
            return _delivery(ticket, answer)
        self._forget(ticket)
        return lost

    async def _wait(self, future: Future[Any]) -> Any:  # noqa: ANN401 - checked where it is taken
        answers = self._answers
        if answers is None or answers.client is not future.client:
            raise UnreachableError("the connection to the scheduler was lost")
        return await self._loop.run(lambda: answers.wait(future))

    async def find_delay(self, ticket: Ticket) -> str:
        """Why no worker has begun an order, by its task's state; see `Dispatcher`."""
        client = (await self.connect()).client
        return _DELAYS.get(await self._find_state(client, ticket) or "", "")

    async def cancel(self, ticket: Ticket) -> None:
        """Have the cluster end an order; see `Dispatcher`."""
        future = self._futures.pop(ticket.name, None) or await self._join(ticket)
        if future is not None:

            async def end() -> None:
                await future.client.cancel([future], force=True, reason=_CANCELLED)

            await self._loop.run(end)

    async def _join(self, ticket: Ticket) -> Future[Any] | None:
        """What the scheduler knows by a ticket.

        Raises:
            UnreachableError: it does not answer.
        """
        client = (await self.connect()).client
        if await self._find_state(client, ticket) in (None, "released", "forgotten"):
            return None

        async def want() -> Future[Any]:
            wanted = {"op": "client-desires-keys", "keys": [ticket.name], "client": client.id}
            future: Future[Any] = Future(ticket.name, client)
            client._send_to_scheduler(wanted)
            return future

        self._futures[ticket.name] = future = await self._loop.run(want)
        return future

    async def _find_state(self, client: Any, ticket: Ticket) -> str | None:  # noqa: ANN401
        """Dask's word for where a task stands; None for one that it does not know.

        Raises:
            UnreachableError: the scheduler does not answer.
        """

        async def ask() -> Any:  # noqa: ANN401
            return await asyncio.wait_for(
                client.scheduler.get_task_status(keys=[ticket.name]), ANSWER_S
            )

        try:
            found: dict[str, str | None] = await self._loop.run(ask)
        except (OSError, TimeoutError) as error:
            raise UnreachableError(f"the scheduler does not answer: {error}") from None
        return found.get(ticket.name)

    def _forget(self, ticket: Ticket) -> None:
        """Let the scheduler forget an order, so that it is done anew if it is asked for again."""
        self._futures.pop(ticket.name, None)

    async def _open(self) -> Answers:
        client: Any = Client  # Dask's own are untyped
        opened: Client = await client(
            url_of(self._address),
            asynchronous=True,
            set_as_default=False,
            security=self._security,
            timeout=ANSWER_S,
            name="context-mode",
        )
        return Answers(opened)

    async def _disconnect(self) -> None:
        answers, self._answers = self._answers, None
        self._futures.clear()
        if answers is not None:
            await self._loop.run(answers.close)


def _delivery(ticket: Ticket, answer: Any) -> Delivery | Lost:  # noqa: ANN401 - a worker's word
    """What a worker handed back, if it holds."""
    try:
        worker = str(answer["worker"])[:200]
        if "cause" in answer:
            detail = str(answer["detail"])[:2000]
            return Lost(ticket.run_id, Cause(answer["cause"]), detail, worker)
        files = {plain_path(path): Digest(*one) for path, one in answer["files"].items()}
        contents = check_contents(files, answer["contents"])
    except (OutcomeError, TreeError, TypeError, ValueError, KeyError, AttributeError) as error:
        return Lost(ticket.run_id, Cause.WORKER, f"what it handed back: {error}")
    return Delivery(files, worker, contents=contents)
