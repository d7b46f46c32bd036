"""Calls of a gRPC server from trio. Its client is asyncio's: nothing above this file knows."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

import grpc
import grpc.aio
import trio

from fleet.engines.address import Address
from fleet.engines.credentials import Pems
from fleet.engines.side_loop import SideLoop, open_side_loop
from fleet.errors import ClusterError, UnreachableError

ANSWER_S: Final = 20.0
"""How long a server may take for one answer, or for one piece of a blob."""
_CLOSE_S: Final = 5.0
_MESSAGE_BYTES_MAX: Final = 16 << 20
# The request itself is wrong: asking again would be answered likewise.
_WRONG: Final = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNIMPLEMENTED,
}
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", _MESSAGE_BYTES_MAX),
    ("grpc.max_reconnect_backoff_ms", 5_000),  # two minutes else
    ("grpc.enable_http_proxy", 0),  # no variable of the environment sends this elsewhere
)

T = TypeVar("T")
Call = Any
"""A call under way; grpc's stubs are untyped."""


class CallError(Exception):
    """A server's refusal, by its code and in its words, for the caller to make sense of."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(f"{code.name.lower()}: {message}")
        self.code = code

    def as_ours(self) -> ClusterError | UnreachableError:
        """What it means where nothing more special is known."""
        if self.code in _WRONG or "handshake failed" in str(self).lower():
            return ClusterError(f"the server refuses: {self}", "see the cluster.* settings")
        return UnreachableError(str(self))


class Wire:
    """A channel to one server."""

    def __init__(self, channel: grpc.aio.Channel, loop: SideLoop) -> None:
        self.channel = channel
        self._loop = loop

    async def ask(
        self, method: Callable[..., Call], request: object, within_s: float = ANSWER_S
    ) -> Any:  # noqa: ANN401
        """Call a method that answers once.

        Raises:
            CallError: the server refuses, is not there, or takes too long.
        """

        async def call() -> object:
            return await method(request, timeout=within_s)

        return await self.run(call)

    async def start(
        self,
        method: Callable[..., Call],
        *request: object,
        metadata: tuple[tuple[str, bytes], ...] = (),
    ) -> Call:
        """Begin a call of a stream; without a request it is one that is written to."""

        async def begin() -> Call:
            return method(*request, metadata=metadata)

        return await self.run(begin)

    async def read(self, call: Call) -> Any:  # noqa: ANN401
        """The next message of a stream, None at its end.

        Raises:
            CallError: the server ended it with an error.
        """
        message = await self.run(call.read)
        return None if message is grpc.aio.EOF else message

    async def write(self, call: Call, message: object) -> bool:
        """Write to a stream; whether the server still listens.

        Raises:
            CallError: the server ended it with an error.
        """

        async def put() -> bool:
            try:
                await call.write(message)
            except asyncio.InvalidStateError:  # it has answered before the end, as it may
                return False
            return True

        return await self.run(put)

    async def finish(self, call: Call) -> Any:  # noqa: ANN401
        """The answer to a stream that was written to.

        Raises:
            CallError: the server ended it with an error.
        """

        async def end() -> object:
            if not call.done():
                await call.done_writing()
            return await call

        return await self.run(end)

    def cancel(self, call: Call) -> None:
        """Give up a stream, and do not wait for it."""
        self._loop.call_soon(call.cancel)

    async def run(self, function: Callable[[], Awaitable[T]]) -> T:
        """Await what is asyncio's.

        Raises:
            CallError: it ended with an error of gRPC's.
        """

        async def awaited() -> T:
            return await function()

        try:
            result: T = await self._loop.run(awaited)
        except grpc.aio.AioRpcError as error:
            raise CallError(error.code(), error.details() or "") from None
        return result


@contextlib.contextmanager
def answered() -> Iterator[None]:
    """Give the server its time, and say what its refusals mean.

    Raises:
        ClusterError: it refuses for good.
        UnreachableError: it does not answer, or not now.
    """
    try:
        with trio.fail_after(ANSWER_S):
            yield
    except trio.TooSlowError:
        raise UnreachableError(f"no answer within {ANSWER_S:.0f} s") from None
    except CallError as error:
        raise error.as_ours() from None


@contextlib.asynccontextmanager
async def open_wire(address: Address, pems: Pems | None) -> AsyncIterator[Wire]:
    """A channel to a server, with certificates on both sides; without `pems` a plain one."""
    async with _shared_loop() as loop:

        async def connect() -> grpc.aio.Channel:
            if pems is None:
                return grpc.aio.insecure_channel(address.target, options=_OPTIONS)
            proof = grpc.ssl_channel_credentials(pems.ca, pems.key, pems.certificate)
            return grpc.aio.secure_channel(address.target, proof, options=_OPTIONS)

        channel = await loop.run(connect)
        try:
            yield Wire(channel, loop)
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + _CLOSE_S):
                await loop.run(channel.close)


class _SharedLoop(NamedTuple):
    """The loop of asyncio of one trio run. Two would be at odds: gRPC has one socket for all."""

    loop: SideLoop
    users: set[object]
    until_unused: contextlib.AsyncExitStack


_SHARED: Final[trio.lowlevel.RunVar[_SharedLoop | None]] = trio.lowlevel.RunVar("grpc", None)


@contextlib.asynccontextmanager
async def _shared_loop() -> AsyncIterator[SideLoop]:
    """The loop, opened for its first user and closed behind the last."""
    shared = _SHARED.get()
    if shared is None:
        ending = contextlib.AsyncExitStack()
        shared = _SharedLoop(
            await ending.enter_async_context(open_side_loop("grpc")), set(), ending
        )
        _SHARED.set(shared)
    user = object()
    shared.users.add(user)
    try:
        yield shared.loop
    finally:
        shared.users.remove(user)
        if not shared.users:
            _SHARED.set(None)
            await shared.until_unused.aclose()
