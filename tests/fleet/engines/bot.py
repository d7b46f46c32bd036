"""A worker of a real server, by the Remote Workers API: it does what a test says, in a thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import grpc
from buildgrid.common.protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as rex
from buildgrid.common.protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2_grpc as rex_grpc,
)
from buildgrid.common.protos.google.devtools.remoteworkers.v1test2 import bots_pb2, bots_pb2_grpc

from fleet.engines.credentials import read_credentials
from fleet.tree import digest_of
from tests.fleet.engines.remote_server import INSTANCE, RemoteServer

POLL_S = 5


@dataclass
class Done:
    """What a bot hands back: files by path, those of folders by path in each, and an exit code."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    folders: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    exit_code: int = 0
    stderr: bytes = b""


Work = Callable[[rex.Command, rex.Action], Done | None]
"""Does a command; None is a worker that says that it lost it."""


class Bot:
    """One worker, that does one thing at a time. `done` counts what it was given."""

    def __init__(self, server: RemoteServer, name: str, work: Work, **properties: str) -> None:
        pems = read_credentials(server.front)
        proof = grpc.ssl_channel_credentials(pems.ca, pems.key, pems.certificate)
        self._channel = grpc.secure_channel(f"127.0.0.1:{server.port}", proof)
        self._bots = bots_pb2_grpc.BotsStub(self._channel)
        self._cas = rex_grpc.ContentAddressableStorageStub(self._channel)
        self._work = work
        self._stopped = threading.Event()
        self._call: grpc.Future | None = None
        self.given = 0
        self._session = bots_pb2.BotSession(bot_id=name, status=bots_pb2.OK)
        device = self._session.worker.devices.add(handle="here")
        for key, value in properties.items():
            device.properties.add(key=key.replace("_", "-"), value=value)

    def serve(self) -> None:
        """Ask for work until it is stopped; then give back what it has."""
        create = bots_pb2.CreateBotSessionRequest(parent=INSTANCE, bot_session=self._session)
        with contextlib.suppress(grpc.RpcError, grpc.FutureCancelledError):
            self._session = self._ask(self._bots.CreateBotSession, create)
            while not self._stopped.is_set():
                for lease in self._session.leases:
                    self._advance(lease)
                self._session = self._ask(self._bots.UpdateBotSession, self._update())
        self._session.status = bots_pb2.BOT_TERMINATING
        with contextlib.suppress(grpc.RpcError):
            self._bots.UpdateBotSession(self._update(), timeout=POLL_S)
        self._channel.close()

    def stop(self) -> None:
        """End it, also while it waits."""
        self._stopped.set()
        if self._call is not None:
            self._call.cancel()

    def _ask(self, method, request) -> bots_pb2.BotSession:
        self._call = method.future(request, timeout=POLL_S)
        if self._stopped.is_set():
            self._call.cancel()
        return self._call.result()

    def _update(self) -> bots_pb2.UpdateBotSessionRequest:
        name = self._session.name
        return bots_pb2.UpdateBotSessionRequest(name=name, bot_session=self._session)

    def _advance(self, lease: bots_pb2.Lease) -> None:
        if lease.state == bots_pb2.PENDING:
            lease.state = bots_pb2.ACTIVE
        elif lease.state == bots_pb2.ACTIVE:
            self.given += 1
            action = rex.Action()
            assert lease.payload.Unpack(action)
            done = self._work(rex.Command.FromString(self._get(action.command_digest)), action)
            lease.state = bots_pb2.COMPLETED
            if done is None:
                lease.status.code = grpc.StatusCode.UNAVAILABLE.value[0]
            else:
                lease.result.Pack(self._result(done))

    def _result(self, done: Done) -> rex.ActionResult:
        result = rex.ActionResult(exit_code=done.exit_code, stderr_raw=done.stderr)
        result.execution_metadata.worker = self._session.bot_id
        for path, data in done.files.items():
            result.output_files.add(path=path, digest=self._put(data))
        for path, files in done.folders.items():
            root = rex.Directory()
            for name, data in files.items():
                root.files.add(name=name, digest=self._put(data))
            tree = rex.Tree(root=root).SerializeToString()
            result.output_directories.add(path=path, tree_digest=self._put(tree))
        return result

    def _get(self, digest: rex.Digest) -> bytes:
        request = rex.BatchReadBlobsRequest(instance_name=INSTANCE, digests=[digest])
        return bytes(self._cas.BatchReadBlobs(request, timeout=POLL_S).responses[0].data)

    def _put(self, data: bytes) -> rex.Digest:
        named = digest_of(data)
        digest = rex.Digest(hash=named.hash, size_bytes=named.size_bytes)
        one = rex.BatchUpdateBlobsRequest.Request(digest=digest, data=data)
        request = rex.BatchUpdateBlobsRequest(instance_name=INSTANCE, requests=[one])
        self._cas.BatchUpdateBlobs(request, timeout=POLL_S)
        return digest


@contextlib.contextmanager
def working(server: RemoteServer, name: str, work: Work, **properties: str) -> Iterator[Bot]:
    """A bot that works beside the block."""
    bot = Bot(server, name, work, **properties)
    thread = threading.Thread(target=bot.serve)
    thread.start()
    try:
        yield bot
    finally:
        bot.stop()
        thread.join(POLL_S * 2)
