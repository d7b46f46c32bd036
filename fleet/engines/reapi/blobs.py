"""The blobs of a Remote Execution server: small ones many at a time, large ones as streams."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import itertools
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import grpc
import trio
from buildgrid.common.protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as rex
from buildgrid.common.protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2_grpc as rex_grpc,
)
from buildgrid.common.protos.google.bytestream import bytestream_pb2, bytestream_pb2_grpc
from buildgrid.common.protos.google.rpc import code_pb2

from fleet.blob_cache import BlobCache
from fleet.dispatcher import Open
from fleet.engines.reapi.messages import from_wire, to_wire
from fleet.engines.reapi.wire import CallError, Wire, answered
from fleet.errors import BlobError, UnreachableError
from fleet.tree import Digest, digest_of

BATCH_BYTES_MAX: Final = (4 << 20) - 4096
"""The most content of one message: gRPC's default of 4 MiB less what is around it."""
_BLOB_OVERHEAD: Final = 128  # a digest and its fields in a message
_PIECE: Final = 1 << 20
_DIGESTS_AT_ONCE: Final = 10_000  # of 76 bytes each
_FALSE: Final = {code_pb2.INVALID_ARGUMENT, code_pb2.DATA_LOSS}
_OF_THE_BLOB: Final = {
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.DATA_LOSS,
    grpc.StatusCode.OUT_OF_RANGE,
}


class RemoteBlobs:
    """What a server keeps for one instance."""

    def __init__(self, wire: Wire, instance: str, batch_bytes: int) -> None:
        self._wire = wire
        self._instance = instance
        self._batch_bytes = min(batch_bytes or BATCH_BYTES_MAX, BATCH_BYTES_MAX)
        self._cas = rex_grpc.ContentAddressableStorageStub(wire.channel)
        self._streams = bytestream_pb2_grpc.ByteStreamStub(wire.channel)

    async def missing(self, digests: Iterable[Digest]) -> frozenset[Digest]:
        """Those that the server lacks; see `Blobs`."""
        lacking: set[Digest] = set()
        waiting = iter(dict.fromkeys(digests))
        while some := list(itertools.islice(waiting, _DIGESTS_AT_ONCE)):
            request = rex.FindMissingBlobsRequest(
                instance_name=self._instance, blob_digests=map(to_wire, some)
            )
            with answered():
                found = await self._wire.ask(self._cas.FindMissingBlobs, request)
            lacking.update(map(from_wire, found.missing_blob_digests))
        return frozenset(lacking)

    async def put(self, blobs: Mapping[Digest, Open]) -> None:
        """Have the server keep blobs; see `Blobs`."""
        for batch in self._batches(blobs):
            if self._weight(batch[0]) > self._batch_bytes:
                await self._put_large(batch[0], blobs[batch[0]])
            else:
                await self._put_batch({digest: blobs[digest] for digest in batch})

    async def put_bytes(self, data: bytes) -> Digest:
        """Have the server keep a blob that is at hand."""
        digest = digest_of(data)
        await self.put({digest: functools.partial(io.BytesIO, data)})
        return digest

    async def get(self, digest: Digest, write: Callable[[bytes], object]) -> None:
        """Hand over a blob in pieces, and check it; see `Blobs`."""
        if not digest.size_bytes:  # every server has it, and some know nothing of it
            return
        check, size = hashlib.sha256(), 0
        name = f"blobs/{digest.hash}/{digest.size_bytes}"
        request = bytestream_pb2.ReadRequest(resource_name=self._named(name))
        call = await self._wire.start(self._streams.Read, request)
        try:
            while True:
                with answered(), _telling(digest):
                    piece = await self._wire.read(call)
                if piece is None:
                    break
                size += len(piece.data)
                if size > digest.size_bytes:
                    raise BlobError(f"the server sends more than {digest} is")
                check.update(piece.data)
                write(piece.data)
        finally:
            self._wire.cancel(call)
        if size != digest.size_bytes or check.hexdigest() != digest.hash:
            raise BlobError(f"the server sends something else than {digest}")

    async def fetch(self, digests: frozenset[Digest], cache: BlobCache) -> None:
        """Bring blobs into a worker's cache; see `Fetch`."""
        for batch in self._batches(digests):
            if self._weight(batch[0]) > self._batch_bytes:
                with tempfile.TemporaryFile(dir=cache.folder) as file:
                    await self.get(batch[0], file.write)
                    file.seek(0)
                    pieces = iter(functools.partial(file.read, _PIECE), b"")
                    await trio.to_thread.run_sync(cache.add, batch[0], pieces)
            else:
                await trio.to_thread.run_sync(_keep_all, await self._get_batch(batch), cache)

    async def get_small(self, *digests: Digest) -> tuple[bytes, ...]:
        """Blobs that go in one answer together.

        Raises:
            BlobError: the server lacks one, or sends something else.
            UnreachableError: the server does not answer.
        """
        found = await self._get_batch(list(dict.fromkeys(digests)))
        for digest, data in found.items():
            if digest_of(data) != digest:
                raise BlobError(f"the server sends something else than {digest}")
        return tuple(found[digest] for digest in digests)

    async def _get_batch(self, digests: list[Digest]) -> dict[Digest, bytes]:
        """Small blobs, by one answer, and not checked yet."""
        wanted = [one for one in digests if one.size_bytes]
        request = rex.BatchReadBlobsRequest(
            instance_name=self._instance, digests=map(to_wire, wanted)
        )
        answer = rex.BatchReadBlobsResponse()
        if wanted:
            with answered():
                answer = await self._wire.ask(self._cas.BatchReadBlobs, request)
        told = {one.digest.hash: one for one in answer.responses}
        for digest in wanted:
            if digest.hash not in told:
                raise UnreachableError(f"the server says nothing of {digest}")
            status = told[digest.hash].status
            if status.code in (*_FALSE, code_pb2.NOT_FOUND):
                raise BlobError(f"{digest}: {status.message or 'the server lacks it'}")
            if status.code:
                raise UnreachableError(f"{digest}: {status.message}")
        return {one: told[one.hash].data if one.size_bytes else b"" for one in digests}

    def _batches(self, blobs: Iterable[Digest]) -> Iterator[list[Digest]]:
        """What goes in one message each; what is too large for any stands alone."""
        batch: list[Digest] = []
        room = self._batch_bytes
        for digest in sorted(blobs, key=lambda one: one.size_bytes):
            weight = self._weight(digest)
            if batch and weight > room:
                yield batch
                batch, room = [], self._batch_bytes
            batch.append(digest)
            room -= weight
        if batch:
            yield batch

    def _weight(self, digest: Digest) -> int:
        return digest.size_bytes + _BLOB_OVERHEAD

    async def _put_batch(self, blobs: Mapping[Digest, Open]) -> None:
        contents = await trio.to_thread.run_sync(_read_all, blobs)
        request = rex.BatchUpdateBlobsRequest(
            instance_name=self._instance,
            requests=[
                rex.BatchUpdateBlobsRequest.Request(digest=to_wire(one), data=data)
                for one, data in contents.items()
            ],
        )
        with answered():
            answer = await self._wire.ask(self._cas.BatchUpdateBlobs, request)
        told = {one.digest.hash: one.status for one in answer.responses}
        for digest in blobs:
            status = told.get(digest.hash)
            if status is None:
                raise UnreachableError(f"the server says nothing of {digest}")
            if status.code in _FALSE:
                raise BlobError(f"{digest}: {status.message}")
            if status.code:
                raise UnreachableError(f"{digest}: {status.message}")

    async def _put_large(self, digest: Digest, opener: Open) -> None:
        try:
            await self._put_stream(digest, opener)
        except UnreachableError:
            # A server that has it already answers before the end, and gRPC may trip over that.
            if await self.missing([digest]):
                raise

    async def _put_stream(self, digest: Digest, opener: Open) -> None:
        name = self._named(f"uploads/{uuid.uuid4()}/blobs/{digest.hash}/{digest.size_bytes}")
        call = await self._wire.start(self._streams.Write)
        file = await trio.to_thread.run_sync(opener)
        try:
            at, listens = 0, True
            while listens and at < digest.size_bytes:
                data = await trio.to_thread.run_sync(file.read, min(_PIECE, digest.size_bytes - at))
                is_last = at + len(data) == digest.size_bytes
                beyond = await trio.to_thread.run_sync(file.read, 1) if is_last else b""
                if not data or beyond:
                    raise BlobError(f"a content is shorter or longer than {digest}")
                piece = bytestream_pb2.WriteRequest(
                    resource_name=name,
                    write_offset=at,
                    data=data,
                    finish_write=is_last,
                )
                with answered(), _telling(digest):
                    listens = await self._wire.write(call, piece)
                at += len(data)
            with answered(), _telling(digest):
                answer = await self._wire.finish(call)
        finally:
            self._wire.cancel(call)
            file.close()
        if answer.committed_size not in (digest.size_bytes, -1):
            raise UnreachableError(f"the server took {answer.committed_size} bytes of {digest}")

    def _named(self, resource: str) -> str:
        return f"{self._instance}/{resource}" if self._instance else resource


@contextlib.contextmanager
def _telling(digest: Digest) -> Iterator[None]:
    """Tell what is wrong with a blob from what is wrong with the server.

    Raises:
        BlobError: the server lacks it, or finds that its content is another.
    """
    try:
        yield
    except CallError as error:
        if error.code in _OF_THE_BLOB:
            raise BlobError(f"{digest}: {error}") from None
        raise


def _keep_all(contents: Mapping[Digest, bytes], cache: BlobCache) -> None:
    for digest, data in contents.items():
        cache.add(digest, [data])


def _read_all(blobs: Mapping[Digest, Open]) -> dict[Digest, bytes]:
    contents = {}
    for digest, opener in blobs.items():
        with opener() as file:
            data = file.read(digest.size_bytes + 1)
        if len(data) != digest.size_bytes:
            raise BlobError(f"a content is shorter or longer than {digest}")
        contents[digest] = data
    return contents
