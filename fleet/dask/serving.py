"""Serving a Dask cluster as a worker: a Dask worker in this process, whose tasks are orders."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import logging
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import trio
from distributed import Status, Worker, WorkerPlugin

from base.plain_files import open_plain
from executor import MIB
from fleet.cluster import Cluster, UnreachableError
from fleet.dask import task
from fleet.dask.blobs import FileBlobs
from fleet.dask.client import quieten, security_of, try_out
from fleet.dask.task import Ask, open_side_loop
from fleet.model import Cause
from fleet.seal import SEALED_BYTES_MAX, SealError
from fleet.tree import BlobError, Digest, TreeError

if TYPE_CHECKING:
    from fleet.worker import Worker as Doer

CONNECT_S: Final = 20.0
FETCHED_S: Final = 20.0
"""Time limit of a leaving worker for fronts to fetch its answers, which no one else has."""
PAUSE_S: Final = (0.25, 10.0)
"""First and longest pause before a scheduler that does not answer is tried again."""
_LOOK_S: Final = 0.05
_CLOSE_S: Final = 5.0

log = logging.getLogger(__name__)


SMALL_BYTES: Final = 16 << 10
"""Limit of all small files together: Dask's scheduler keeps a thousand answers a front."""
Results = tuple[dict[str, Digest], dict[str, bytes]]
"""Digests of all files by path, and the contents of small ones."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A worker's place in a cluster. A worker that leaves ends after its last order."""

    name: str  # no other worker has it
    at_once: int  # limit of orders done at once
    offers: tuple[str, ...]
    folder: Path | None = None  # keeps results until the cluster has them; None: temporary
    leave: trio.Event = field(default_factory=trio.Event)  # when set, no orders are taken


async def serve(cluster: Cluster, doer: Doer, how: Serving) -> None:
    """Do the scheduler's orders until this is cancelled or the worker leaves.

    Cancelling this returns running orders. A scheduler that does not answer is tried again. orders.

    Raises:
        ClusterError: the credentials or the folder of files cannot be used.
    """
    quieten()
    security = security_of(cluster.credentials)
    blobs = FileBlobs(cluster.blobs)
    await blobs.check()
    here = OrderDoer(blobs, doer, how)
    pause_s = PAUSE_S[0]
    async with open_side_loop("dask") as ask:
        while not how.leave.is_set():
            with tempfile.TemporaryDirectory(prefix="dask-", dir=how.folder) as folder:
                try:
                    await try_out(cluster, security)
                    terms = {"security": security, "local_directory": folder}
                    await _serve_once(cluster.scheduler, terms, here, ask)
                    pause_s = PAUSE_S[0]
                except UnreachableError as error:
                    await _pause_after(error, pause_s, how.leave)
                    pause_s = min(2 * pause_s, PAUSE_S[1])


async def _pause_after(error: UnreachableError, pause_s: float, leave: trio.Event) -> None:
    """Wait before the scheduler is tried again, or until this worker leaves."""
    pause_s *= random.uniform(0.5, 1)  # noqa: S311 - so that not all ask at once
    log.warning("the cluster: %s; retry in %.1f s", error, pause_s)
    with trio.move_on_after(pause_s):
        await leave.wait()


async def _serve_once(url: str, terms: dict[str, Any], here: OrderDoer, ask: Ask) -> None:
    """Be a worker until the scheduler is gone or the worker leaves.

    Raises:
        UnreachableError: the scheduler does not answer.
    """

    async def start() -> Worker:
        made = Worker(
            url,
            name=here.how.name,
            nthreads=here.how.at_once,
            resources=task.count_resources(here.how.offers, here.how.at_once),
            memory_limit=0,  # a run's memory is limited by the sandbox
            dashboard=False,
            dashboard_address="127.0.0.1:0",  # else it answers anybody, there
            plugins=(here,),
            **terms,
        )
        try:
            return await asyncio.wait_for(_started(made), CONNECT_S)
        except (OSError, TimeoutError) as error:
            await _close(made)
            raise UnreachableError(f"the scheduler does not take this worker: {error}") from None
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):  # else it is cancelled, too
                await _close(made)
            raise

    worker = await ask(start)
    log.info("serving %s", url)
    try:
        await _until_left(worker, here, ask)
    finally:
        here.hold_answers()
        with trio.CancelScope(shield=True, deadline=trio.current_time() + _CLOSE_S):
            await ask(_close, worker)
        here.release_answers()


async def _started(worker: Worker) -> Worker:
    started: Worker = await worker
    return started


async def _close(worker: Worker) -> None:
    try:
        with contextlib.suppress(Exception):
            await worker.close(timeout=_CLOSE_S / 2, executor_wait=False)
    finally:  # nothing keeps listening, even if that was cut short
        with contextlib.suppress(Exception):
            worker.stop()
            worker.http_server.stop()


async def _until_left(worker: Worker, here: OrderDoer, ask: Ask) -> None:
    async def leave(gone: trio.CancelScope) -> None:
        await here.how.leave.wait()
        await ask(_finish, worker)
        gone.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(leave, nursery.cancel_scope)
        await ask(worker.finished)
        nursery.cancel_scope.cancel()


async def _finish(worker: Worker) -> None:
    """Take no more orders, end the running ones, and wait until fronts have fetched their answers.

    Seen from another thread, an ending order may be neither executed nor an answer yet.
    """
    worker.status = Status.paused
    while worker.state.executing:  # noqa: ASYNC110 - Dask tells nobody
        await asyncio.sleep(_LOOK_S)
    last = time.monotonic() + FETCHED_S
    while worker.data and time.monotonic() < last:  # noqa: ASYNC110
        await asyncio.sleep(_LOOK_S)


class OrderDoer(WorkerPlugin):
    """The plugin of a Dask worker of this process that does its orders.

    It ends orders that the scheduler has taken back: Dask itself would let them run.
    """

    name = task.PLUGIN

    def __init__(self, blobs: FileBlobs, doer: Doer, how: Serving) -> None:
        self.token = trio.lowlevel.current_trio_token()
        self.how = how
        self._blobs = blobs
        self._doer = doer
        self._scopes: dict[str, trio.CancelScope] = {}
        self._closed: trio.Event | None = None

    async def do(self, run_id: str, order: task.SentOrder, timeout_s: float) -> dict[str, Any]:
        """Do an order; see `task.execute`."""
        answer: dict[str, Any] = {"worker": self.how.name}
        cause, detail = Cause.WORKER, f"it took over {timeout_s:.0f} s"
        with trio.CancelScope(deadline=trio.current_time() + timeout_s) as scope:
            self._scopes[run_id] = scope
            try:
                return answer | await self._do(order)
            except SealError as error:
                detail = f"{error.reason}: {error}"
            except (BlobError, TreeError) as error:
                cause, detail = Cause.BLOB, str(error)
            except UnreachableError as error:
                cause, detail = Cause.ENGINE, str(error)
            except Exception as error:
                log.exception("a worker failed")
                detail = f"{type(error).__name__}: {error}"
            finally:
                if self._scopes.get(run_id) is scope:
                    del self._scopes[run_id]
        if self._closed is not None:
            await self._closed.wait()
        return answer | {"cause": cause.value, "detail": detail}

    async def _do(self, order: task.SentOrder) -> dict[str, Any]:
        sealed = order if isinstance(order, bytes) else await self._fetch(Digest(*order))
        with tempfile.TemporaryDirectory(prefix="out-", dir=self.how.folder) as name:
            await self._doer.do(sealed, self._blobs.fetch, Path(name))
            files, contents = await upload_results(Path(name), self._blobs)
        plain = {path: (one.hash, one.size_bytes) for path, one in files.items()}
        return {"files": plain, "contents": contents}

    async def _fetch(self, order: Digest) -> bytes:
        if order.size_bytes > SEALED_BYTES_MAX:
            raise BlobError(f"the order has {order.size_bytes:,} bytes")
        sealed = bytearray()
        await self._blobs.get(order, sealed.extend)
        return bytes(sealed)

    def teardown(self, worker: Worker) -> None:
        """End all orders; Dask calls this when the worker ends, also after losing its scheduler."""
        with contextlib.suppress(trio.RunFinishedError):
            self.token.run_sync_soon(self.end_all)

    def transition(self, key: object, start: str, finish: str, **_: object) -> None:
        """End a task that was taken back; Dask calls this at every change of a task's state."""
        if start == "executing" and finish == "released":
            with contextlib.suppress(trio.RunFinishedError):
                self.token.run_sync_soon(self._end, str(key))

    def _end(self, run_id: str) -> None:
        if run_id in self._scopes:
            self._scopes[run_id].cancel()

    def hold_answers(self) -> None:
        """End all orders without reporting them until this worker is gone.

        The scheduler then gives them to another worker, and does not take the end for their answer.
        """
        self._closed = trio.Event()
        self.end_all()

    def release_answers(self) -> None:
        """Release the threads that wait to answer; nobody receives their answers."""
        if self._closed is not None:
            self._closed.set()
        self._closed = None

    def end_all(self) -> None:
        """End all orders."""
        for scope in self._scopes.values():
            scope.cancel()


async def upload_results(out: Path, blobs: FileBlobs) -> Results:
    """Upload the files of a folder, and return the small ones. Links are skipped.

    Small files are those that have up to `SMALL_BYTES` in all.

    Raises:
        BlobError: a file changed during the upload.
        OSError: a file cannot be read.
        UnreachableError: the store does not answer.
    """
    files, contents = await trio.to_thread.run_sync(_look, out)
    openers = {
        digest: functools.partial(_pieces, out / path)
        for path, digest in files.items()
        if path not in contents
    }
    await blobs.put(openers)
    return files, contents


def _look(out: Path) -> Results:
    """Digest all files, and read the smallest of them."""
    found = sorted(path for path in out.rglob("*") if path.is_file() and not path.is_symlink())
    files = {str(path.relative_to(out)): _digest(path) for path in found}
    contents, room = {}, SMALL_BYTES
    for path, digest in sorted(files.items(), key=lambda one: one[1].size_bytes):
        room -= digest.size_bytes
        if room < 0:
            break
        contents[path] = b"".join(_pieces(out / path))
    return files, contents


def _pieces(path: Path) -> Iterator[bytes]:
    with open_plain(path, follow=False) as file:
        while piece := file.read(MIB):
            yield piece


def _digest(path: Path) -> Digest:
    found, size = hashlib.sha256(), 0
    for piece in _pieces(path):
        found.update(piece)
        size += len(piece)
    return Digest(found.hexdigest(), size)
