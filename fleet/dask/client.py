"""The client of a Dask cluster, in which certificates decide who may connect to whom."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import operator
import pkgutil
import ssl
from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import Any, Final

import trio
from dask._task_spec import Task
from distributed import Client, Future, fire_and_forget
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker
from distributed.security import Security

from fleet.cluster import Cluster, ClusterError, Credentials, UnreachableError, check_credentials
from fleet.dask.blobs import FileBlobs
from fleet.dask.task import (
    CARRIED_BYTES_MAX,
    FUNCTION,
    Ask,
    SentOrder,
    count_resources,
    open_side_loop,
)
from fleet.model import Cause, Delivery, Lost, OutcomeError
from fleet.tree import Digest, TreeError, digest_of

ANSWER_S: Final = 10.0
CONNECT_S: Final = 10.0
CLOSE_S: Final = 5.0
QUIET_S: Final = 10.0
"""After this long without an answer, check whether the scheduler is still there."""
_DELAYS: Final = {
    "no-worker": "no worker offers what it needs",
    "queued": "all workers that offer what it needs are busy",
}
_CANCELLED: Final = "cancelled by a front"
_ENDED: Final = "the other side closed the connection"


@contextlib.asynccontextmanager
async def open_dask(cluster: Cluster) -> AsyncIterator[DaskRuns]:
    """Open a scheduler's client, and the folder of its cluster's files.

    Raises:
        ClusterError: the credentials or the folder cannot be used.
        UnreachableError: the scheduler does not answer.
    """
    quieten()
    security = security_of(cluster.credentials)
    blobs = FileBlobs(cluster.blobs)
    await blobs.check()
    async with open_side_loop("dask") as ask:
        runs = DaskRuns(cluster, security, blobs, ask)
        try:
            await runs.connect()
            yield runs
        finally:
            await runs.close()


class DaskRuns:
    """The runs of an open cluster. They continue when this front leaves, and are then dropped
    unless the next front waits for them. A run's ID is its key at the scheduler."""

    def __init__(
        self, cluster: Cluster, security: Security | None, blobs: FileBlobs, ask: Ask
    ) -> None:
        self.blobs = blobs
        self._cluster = cluster
        self._security = security
        self._ask = ask
        self._lock = trio.Lock()
        self._futures: dict[str, Future[Any]] = {}
        self._client: Any = None  # a `Client`, which is untyped

    async def connect(self) -> Any:  # noqa: ANN401
        """Return the scheduler's client, reconnected if it was lost.

        Raises:
            ClusterError: the certificates cannot be used.
            UnreachableError: the scheduler does not answer.
        """
        async with self._lock:
            if self._client is not None and self._client.status == "running":
                return self._client
            await self._disconnect()
            await try_out(self._cluster, self._security)
            try:
                self._client = await self._ask(self._open)
            except (OSError, TimeoutError) as error:
                said = f"no scheduler at {self._cluster.target}: {error}"
                raise UnreachableError(said) from None
            return self._client

    async def close(self) -> None:
        """Leave the cluster."""
        with trio.CancelScope(shield=True):
            await self._disconnect()

    async def submit(
        self, run_id: str, sealed: bytes, needs: Iterable[str], timeout_s: float
    ) -> None:
        """Submit an order. An equal order joins the one that is running.

        A worker must offer all that it `needs`, and ends it after `timeout_s`.

        Raises:
            ClusterError: the cluster rejects it, and always will.
            UnreachableError: the cluster does not answer; it may have accepted.
        """
        client = await self.connect()
        sent: SentOrder = sealed
        if len(sealed) > CARRIED_BYTES_MAX:
            order = digest_of(sealed)
            await self.blobs.put({order: lambda: [sealed]})
            sent = (order.hash, order.size_bytes)

        async def submit() -> Future[Any]:
            # Only names from the standard library: a scheduler may not have our modules.
            future: Future[Any] = client.submit(
                operator.call,
                Task("execute", pkgutil.resolve_name, FUNCTION),
                run_id,
                sent,
                timeout_s,
                key=run_id,
                resources=count_resources(needs),
                retries=0,
                pure=False,
                fifo_timeout="0 ms",
            )
            keep: Any = fire_and_forget
            keep(future)  # it continues without this front, for the next one to join
            return future

        self._futures[run_id] = await self._ask(submit)

    async def wait(self, run_id: str) -> Delivery | Lost:
        """Wait for an order's end, without limit. Cancelling this leaves the order unchanged.

        Raises:
            UnreachableError: the cluster does not answer; the order may be running.
        """
        future = self._futures.get(run_id) or await self._join(run_id)
        if future is None:
            return Lost(run_id, Cause.ENGINE, "the scheduler has no such run")
        try:
            end = await self._wait(run_id, future)
        except UnreachableError:
            self._futures.pop(run_id, None)
            raise
        self._futures.pop(run_id, None)  # so that a new request for it runs again
        return end

    async def _wait(self, run_id: str, future: Future[Any]) -> Delivery | Lost:
        client = self._client
        if client is None or client is not future.client:
            raise UnreachableError("the connection to the scheduler was lost")
        try:
            return _delivery(run_id, await self._ask(_wait_for_answer, client, future))
        except FutureCancelledError as error:
            if error.reason == _CANCELLED:
                return Lost(run_id, Cause.CANCELLED, _CANCELLED)
            raise UnreachableError(f"the scheduler is lost: {error.reason}") from None
        except KilledWorker as error:
            return Lost(run_id, Cause.WORKER, str(error), str(error.last_worker.name))
        except UnreachableError:
            raise
        except Exception as error:
            return Lost(run_id, Cause.WORKER, f"{type(error).__name__}: {error}")

    async def find_delay(self, run_id: str) -> str:
        """Return why no worker has started an order, by its task's state; empty if one has.

        Raises:
            UnreachableError: the cluster does not answer.
        """
        client = await self.connect()
        return _DELAYS.get(await self._find_state(client, run_id) or "", "")

    async def cancel(self, run_id: str) -> None:
        """Cancel an order at the cluster if it is there and has not ended.

        Raises:
            UnreachableError: the cluster does not answer.
        """
        future = self._futures.pop(run_id, None) or await self._join(run_id)
        if future is not None:
            await self._ask(partial(future.client.cancel, force=True, reason=_CANCELLED), [future])

    async def _join(self, run_id: str) -> Future[Any] | None:
        """Return the future of a run; None if the scheduler does not know it.

        Raises:
            UnreachableError: it does not answer.
        """
        client = await self.connect()
        if await self._find_state(client, run_id) in (None, "released", "forgotten"):
            return None

        async def want() -> Future[Any]:
            wanted = {"op": "client-desires-keys", "keys": [run_id], "client": client.id}
            future: Future[Any] = Future(run_id, client)
            client._send_to_scheduler(wanted)
            return future

        future: Future[Any] = await self._ask(want)
        self._futures[run_id] = future
        return future

    async def _find_state(self, client: Any, run_id: str) -> str | None:  # noqa: ANN401
        """Return Dask's word for the state of a task; None if the scheduler does not know it.

        Raises:
            UnreachableError: the scheduler does not answer.
        """

        async def ask() -> Any:  # noqa: ANN401
            return await asyncio.wait_for(client.scheduler.get_task_status(keys=[run_id]), ANSWER_S)

        try:
            found: dict[str, str | None] = await self._ask(ask)
        except (OSError, TimeoutError) as error:
            raise UnreachableError(f"the scheduler does not answer: {error}") from None
        return found.get(run_id)

    async def _open(self) -> Any:  # noqa: ANN401
        client: Any = Client  # Dask's own are untyped
        return await client(
            self._cluster.scheduler,
            asynchronous=True,
            set_as_default=False,
            security=self._security,
            timeout=ANSWER_S,
            name="context-mode",
        )

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        self._futures.clear()
        if client is not None:
            await self._ask(_close, client)


async def _close(client: Any) -> None:  # noqa: ANN401
    """Leave the scheduler, which may be gone."""
    with contextlib.suppress(Exception):
        await asyncio.wait_for(client.close(timeout=CLOSE_S), CLOSE_S)


async def _wait_for_answer(client: Any, future: Future[Any]) -> Any:  # noqa: ANN401
    """Wait for the answer of a run's task, and check the client's state now and then: Dask reports
    some lost connections to nobody.

    Raises:
        UnreachableError: the connection to the scheduler is lost.
        Exception: the task failed; this is Dask's own exception.
    """
    answer = asyncio.ensure_future(future.result())
    try:
        while client.status == "running":
            await asyncio.wait({answer}, timeout=QUIET_S)
            if answer.done():
                return answer.result()
    finally:
        answer.cancel()
    if future.status == "cancelled":
        return await future
    raise UnreachableError("the connection to the scheduler is lost")


def _delivery(run_id: str, answer: Any) -> Delivery | Lost:  # noqa: ANN401 - a worker's word
    """Parse a worker's answer and check its contents; which files it may have is checked later."""
    try:
        worker = str(answer["worker"])[:200]
        if "cause" in answer:
            detail = str(answer["detail"])[:2000]
            return Lost(run_id, Cause(answer["cause"]), detail, worker)
        files = {str(path): Digest(*one) for path, one in answer["files"].items()}
        contents = {}
        for path, content in answer["contents"].items():
            if files.get(path) != digest_of(content):
                raise OutcomeError(f"the content of {path[:200]!r} does not match its digest")
            contents[files[path]] = content
    except (OutcomeError, TreeError, TypeError, ValueError, KeyError, AttributeError) as error:
        return Lost(run_id, Cause.WORKER, f"its answer: {error}")
    return Delivery(files, worker, contents)


def security_of(credentials: Credentials | None) -> Security | None:
    """Build the TLS settings of both sides of every connection from certificates.

    Raises:
        ClusterError: a file can't be read or is not PEM, or others may read the key.
    """
    if credentials is None:
        return None
    check_credentials(credentials)
    ca, certificate, key = map(str, (credentials.ca, credentials.certificate, credentials.key))
    made: Any = Security  # untyped
    security: Security = made(
        require_encryption=True,
        tls_ca_file=ca,
        tls_client_cert=certificate,
        tls_client_key=key,
        tls_worker_cert=certificate,
        tls_worker_key=key,
    )
    return security


async def try_out(cluster: Cluster, security: Security | None) -> None:
    """Connect to a scheduler once, until it greets. Dask itself tries for long and reports less.

    Raises:
        ClusterError: one side's certificate is from another authority, or expired.
        UnreachableError: nobody answers.
    """
    try:
        with trio.fail_after(CONNECT_S):
            async with await trio.open_tcp_stream(cluster.host, cluster.port) as connection:
                stream: trio.abc.Stream = connection
                if security is not None:
                    untyped: Any = security
                    context = untyped.get_connection_args("client")["ssl_context"]
                    stream = trio.SSLStream(connection, context)
                # A scheduler speaks first. If it writes to a connection that has ended, Python with
                # OpenSSL 3.4 or later takes that error for another's, and drops it, too.
                if not await stream.receive_some(1):
                    raise _unreached(cluster, _ENDED)
    except trio.BrokenResourceError as error:
        cause = error.__cause__
        if isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            raise _unreached(cluster, _ENDED) from None
        if isinstance(cause, ssl.SSLError):
            said = f"{_blame(cluster, cause)}: {cause}"
            raise ClusterError(said, "Check cluster.ca and cluster.certificate.") from None
        raise _unreached(cluster, cause or error) from None
    except trio.TooSlowError:
        raise _unreached(cluster, f"no answer within {CONNECT_S:g} s") from None
    except OSError as error:
        raise _unreached(cluster, error) from None


def _unreached(cluster: Cluster, why: object) -> UnreachableError:
    return UnreachableError(f"no scheduler at {cluster.target}: {why}")


def _blame(cluster: Cluster, error: ssl.SSLError) -> str:
    """Return which side a handshake fails at: an alert is sent by the other side."""
    if "_ALERT_" in str(error.reason):
        return f"{cluster.target} refuses this connection"
    return f"the certificate of {cluster.target} is not valid"


def quieten() -> None:
    """Keep Dask from writing to stderr: its errors are raised, or logged by us."""
    for name in ("distributed", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
