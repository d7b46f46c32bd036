"""Having a Remote Execution server's workers do actions: submit, wait, cancel."""

from __future__ import annotations

import functools
import io
from dataclasses import replace
from typing import Final, Self

import grpc
import trio
from buildgrid.common.protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as rex
from buildgrid.common.protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2_grpc as rex_grpc,
)
from buildgrid.common.protos.google.longrunning import operations_pb2, operations_pb2_grpc
from google.protobuf.message import DecodeError

from fleet.dispatcher import LOST_MAX, Blobs, Delivery, Placement
from fleet.engines.handed_back import check_contents, plain_path
from fleet.engines.reapi.blobs import RemoteBlobs
from fleet.engines.reapi.messages import (
    action_of,
    cause_of,
    command_of,
    files_of,
    from_wire,
    metadata_of,
    to_wire,
)
from fleet.engines.reapi.wire import Call, CallError, Wire, answered
from fleet.errors import BlobError, ClusterError, OutcomeError, UnreachableError
from fleet.model import Cause, Lost, Ticket
from fleet.tree import Digest, TreeError, digest_of

ENGINE: Final = "reapi"
QUIET_S: Final = 60.0
"""After so long without a word the server is asked again: its stream may have been lost."""
_TREE_BYTES_MAX: Final = 16 << 20
_AGAIN_S: Final = 0.5  # before a stream that ended early is joined again
_STDERR_SHOWN: Final = 500
_STAGE: Final = rex.ExecutionStage
# How servers say that they know no action of that name: the protocol's code, and BuildGrid's.
_NOT_KNOWN: Final = (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT)


class RemoteActions:
    """A server that is open. Streams of actions that nobody waits for end with the block."""

    def __init__(self, wire: Wire, instance: str, blobs: RemoteBlobs) -> None:
        self._wire = wire
        self._instance = instance
        self._blobs = blobs
        self._execution = rex_grpc.ExecutionStub(wire.channel)
        self._operations = operations_pb2_grpc.OperationsStub(wire.channel)
        # By ticket: the stream that `submit` began, and what it has said.
        self._begun: dict[str, tuple[Call, operations_pb2.Operation]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        for call, _ in self._begun.values():
            self._wire.cancel(call)

    @property
    def blobs(self) -> Blobs:
        """What the server keeps."""
        return self._blobs

    async def submit(self, placement: Placement) -> Ticket | Lost:
        """Have an action accepted; see `Dispatcher`. Its digest joins what is under way."""
        command = command_of(placement)
        action = action_of(placement, digest_of(command))
        key = digest_of(action)
        own = {**placement.own, **{digest_of(data): data for data in (command, action)}}
        await self._blobs.put(
            {one: functools.partial(io.BytesIO, data) for one, data in own.items()}
        )
        request = rex.ExecuteRequest(
            instance_name=self._instance,
            action_digest=to_wire(key),
            execution_policy=rex.ExecutionPolicy(priority=placement.priority),
        )
        call = await self._wire.start(
            self._execution.Execute, request, metadata=metadata_of(placement)
        )
        try:
            with answered():
                said = await self._first_word(call)
        except _UnmetError as unmet:
            return await self._why_unmet(unmet, placement, [*own, placement.root])
        except BaseException:
            self._wire.cancel(call)
            raise
        self._begun[said.name] = (call, said)
        return Ticket(placement.run_id, ENGINE, said.name, placement.order)

    async def wait(self, ticket: Ticket) -> Delivery | Lost:
        """Wait for an action's end; see `Dispatcher`. The server may give it to another worker."""
        call, said = self._begun.pop(ticket.name, (None, None))
        workers = _Workers()
        try:
            while said is None or not said.done:
                if said is not None and workers.note(said) >= LOST_MAX:
                    await self.cancel(ticket)
                    why = "the server gave it to one worker after the other"
                    return Lost(ticket.run_id, Cause.WORKER, why, workers=workers.lost)
                if call is None:
                    call = await self._join(ticket)
                said = None
                with trio.move_on_after(QUIET_S):
                    said = await self._next(call)
                if said is None:
                    self._wire.cancel(call)
                    call = None
        except CallError as error:
            if error.code in _NOT_KNOWN:
                return Lost(ticket.run_id, Cause.ENGINE, str(error))
            raise error.as_ours() from None
        finally:
            if call is not None:
                self._wire.cancel(call)
        end = await self._delivery(ticket, said)
        if isinstance(end, Lost) and workers.lost:  # the last one, too
            return replace(end, cause=Cause.WORKER, workers=workers.lost + 1)
        return end

    async def find_delay(self, ticket: Ticket) -> str:
        """Why no worker has begun an action: a server tells its stage alone; see `Dispatcher`."""
        request = operations_pb2.GetOperationRequest(name=ticket.name)
        try:
            said = await self._wire.ask(self._operations.GetOperation, request)
        except CallError as error:
            if error.code in (*_NOT_KNOWN, grpc.StatusCode.UNIMPLEMENTED):
                return ""
            raise error.as_ours() from None
        return "all workers of its kind are busy, or there is none" if _is_queued(said) else ""

    async def cancel(self, ticket: Ticket) -> None:
        """Have the server end an action; see `Dispatcher`. Others may wait for it still."""
        call, _ = self._begun.pop(ticket.name, (None, None))
        if call is not None:
            self._wire.cancel(call)
        request = operations_pb2.CancelOperationRequest(name=ticket.name)
        try:
            await self._wire.ask(self._operations.CancelOperation, request)
        except CallError as error:
            # Some servers know no cancelling: an action then runs until its own timeout.
            if error.code not in (*_NOT_KNOWN, grpc.StatusCode.UNIMPLEMENTED):
                raise error.as_ours() from None

    async def _first_word(self, call: Call) -> operations_pb2.Operation:
        try:
            said: operations_pb2.Operation | None = await self._wire.read(call)
        except CallError as error:
            if error.code is grpc.StatusCode.FAILED_PRECONDITION:
                raise _UnmetError(str(error)) from None
            raise
        if said is None:
            raise UnreachableError("the server said nothing of the action")
        return said

    async def _why_unmet(
        self, unmet: _UnmetError, placement: Placement, needed: list[Digest]
    ) -> Lost:
        """Whether blobs are gone; else the server will never do it.

        Raises:
            ClusterError: the server does not do such actions.
        """
        gone = await self._blobs.missing(needed)
        if not gone and "missing" not in str(unmet).lower():
            raise ClusterError(f"the server refuses: {unmet}", "see its platform properties")
        return Lost(placement.run_id, Cause.BLOB, str(unmet))

    async def _join(self, ticket: Ticket) -> Call:
        request = rex.WaitExecutionRequest(name=ticket.name)
        return await self._wire.start(self._execution.WaitExecution, request)

    async def _next(self, call: Call) -> operations_pb2.Operation | None:
        """What the server says next; None where its stream ends early."""
        said: operations_pb2.Operation | None = await self._wire.read(call)
        if said is None:
            await trio.sleep(_AGAIN_S)
        return said

    async def _delivery(self, ticket: Ticket, ended: operations_pb2.Operation) -> Delivery | Lost:
        answer = rex.ExecuteResponse()
        status = ended.error
        if ended.HasField("response"):
            if not ended.response.Unpack(answer):
                return Lost(ticket.run_id, Cause.ENGINE, "the server's answer is of another kind")
            status = answer.status
        worker = answer.result.execution_metadata.worker or None
        if status.code:
            cause = cause_of(status.code)
            return Lost(ticket.run_id, cause, status.message or answer.message, worker)
        if answer.result.exit_code:
            said = answer.result.stderr_raw[-_STDERR_SHOWN:].decode(errors="replace")
            detail = f"the worker's program ended with {answer.result.exit_code}: {said}"
            return Lost(ticket.run_id, Cause.WORKER, detail, worker)
        try:
            files = await self._files(answer.result)
            came = {one.path: one.contents for one in answer.result.output_files if one.contents}
            contents = check_contents(files, came)
        except (OutcomeError, TreeError, DecodeError) as error:
            return Lost(ticket.run_id, Cause.WORKER, f"what it handed back: {error}", worker)
        except BlobError as error:
            return Lost(ticket.run_id, Cause.BLOB, str(error), worker)
        times = answer.result.execution_metadata
        return Delivery(files, worker, answer.cached_result, contents, _assign_s(times))

    async def _files(self, result: rex.ActionResult) -> dict[str, Digest]:
        """The files that were handed back, those of folders too, by path."""
        found = {plain_path(one.path): from_wire(one.digest) for one in result.output_files}
        if len(found) < len(result.output_files):
            raise OutcomeError("a path stands twice")
        for folder in result.output_directories:
            digest = from_wire(folder.tree_digest)
            if digest.size_bytes > _TREE_BYTES_MAX:
                raise OutcomeError(f"a tree of {digest.size_bytes >> 20} MiB")
            data = io.BytesIO()
            await self._blobs.get(digest, data.write)
            tree = rex.Tree.FromString(data.getvalue())
            for path, file in files_of(plain_path(folder.path), tree):
                if found.setdefault(path, file) is not file:
                    raise OutcomeError("a path stands twice")
        return found


def _assign_s(times: rex.ExecutedActionMetadata) -> float | None:
    """How long an action was queued, by the clocks of the server and of the worker."""
    queued, began = times.queued_timestamp, times.worker_start_timestamp
    if not (queued.seconds and began.seconds):
        return None
    waited_ns: int = began.ToNanoseconds() - queued.ToNanoseconds()
    return max(0, waited_ns) / 1e9


class _UnmetError(Exception):
    """The server has not what an action needs: a blob, or workers of its kind."""


def _is_queued(said: operations_pb2.Operation) -> bool:
    """Whether an action waits for a worker, by the server's word."""
    metadata = rex.ExecuteOperationMetadata()
    return bool(said.metadata.Unpack(metadata)) and metadata.stage == _STAGE.QUEUED


class _Workers:
    """Counts the workers that an action lost: it was executed, and is queued again.

    A server that tells of no stages, or misses some, makes them fewer and never more.
    """

    def __init__(self) -> None:
        self.lost = 0
        self._was_with_one = False

    def note(self, said: operations_pb2.Operation) -> int:
        """Take what the server says; how many were lost by now."""
        told = rex.ExecuteOperationMetadata()
        if not said.metadata.Unpack(told):
            return self.lost
        if told.stage == _STAGE.EXECUTING:
            self._was_with_one = True
        elif told.stage == _STAGE.QUEUED and self._was_with_one:
            self.lost += 1
            self._was_with_one = False
        return self.lost
