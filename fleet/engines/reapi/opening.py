"""Opening a Remote Execution server: what it can do is asked before anything is sent."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from buildgrid.common.protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as rex
from buildgrid.common.protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2_grpc as rex_grpc,
)

from fleet.dispatcher import Dispatcher
from fleet.engines.address import Address
from fleet.engines.credentials import Credentials, read_credentials
from fleet.engines.reapi.actions import RemoteActions
from fleet.engines.reapi.blobs import RemoteBlobs
from fleet.engines.reapi.wire import Wire, answered, open_wire
from fleet.errors import ClusterError

_SHA256 = rex.DigestFunction.SHA256


@contextlib.asynccontextmanager
async def open_reapi(
    address: Address, credentials: Credentials | None
) -> AsyncIterator[Dispatcher]:
    """A server that can execute, by sha256.

    Raises:
        ClusterError: it can't, it refuses, or the credentials can't be read.
        UnreachableError: it does not answer.
    """
    pems = None if credentials is None else read_credentials(credentials)
    async with open_wire(address, pems) as wire:
        batch_bytes = await check_server(wire, address)
        blobs = RemoteBlobs(wire, address.instance, batch_bytes)
        async with RemoteActions(wire, address.instance, blobs) as actions:
            yield actions


async def check_server(wire: Wire, address: Address) -> int:
    """How many bytes the server takes in one batch; 0 for no limit of its own.

    Raises:
        ClusterError: it can't execute, or not by sha256.
        UnreachableError: it does not answer.
    """
    stub = rex_grpc.CapabilitiesStub(wire.channel)
    request = rex.GetCapabilitiesRequest(instance_name=address.instance)
    with answered():
        told = await wire.ask(stub.GetCapabilities, request)
    execution, cache = told.execution_capabilities, told.cache_capabilities
    lacks = {
        "it is of another version of the protocol than 2": told.high_api_version.major < 2
        or told.low_api_version.major > 2,
        "it executes nothing, and only keeps blobs": not execution.exec_enabled,
        "it does not execute by sha256": execution.digest_function not in (0, _SHA256),
        "it does not keep blobs by sha256": _SHA256 not in cache.digest_function,
    }
    if reason := next((reason for reason, holds in lacks.items() if holds), ""):
        raise ClusterError(f"{address.target} can't be used: {reason}", "name another server")
    return int(cache.max_batch_total_size_bytes)
