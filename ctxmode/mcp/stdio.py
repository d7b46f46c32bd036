"""JSON-RPC over the process's stdin and stdout, one message a line, under trio.

The SDK's own stdio transport reads in a thread that an interrupt cannot stop. It does not answer a
line that it cannot parse, and sets no bound on a line. This one needs no thread, answers, and
bounds.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import trio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from ctxmode.mcp import lines

Incoming = SessionMessage | Exception

# Room for a 10 MB program with every byte escaped as \u00XX, so that the
# check of programs, which knows the limit, refuses one that is too large.
LINE_BYTES_MAX = 80 * 1024 * 1024
WRITE_DEADLINE_S = 60.0


@asynccontextmanager
async def stdio_streams() -> AsyncIterator[
    tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]
]:
    """Open both ends of fds 0 and 1 for `Server.run`; the incoming one closes when stdin ends.
    Meanwhile fd 0 is the null device and fd 1 is stderr: nothing that others print reaches the
    protocol."""
    source, sink = _take_descriptor(0, os.devnull), _take_descriptor(1, 2)
    incoming_send, incoming = anyio.create_memory_object_stream[Incoming](0)
    outgoing, outgoing_receive = anyio.create_memory_object_stream[SessionMessage](0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_read, source, incoming_send, outgoing.clone())
        nursery.start_soon(_write, sink, outgoing_receive)
        yield incoming, outgoing
        nursery.cancel_scope.cancel()


def _take_descriptor(fd: int, instead: str | int) -> int:
    """Move `fd` out of everyone's reach and put something harmless in its place; return where it
    is."""
    private = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    other = os.dup(instead) if isinstance(instead, int) else os.open(instead, os.O_RDONLY)
    os.dup2(other, fd)
    os.close(other)
    return private


async def _read(
    source: int,
    incoming: MemoryObjectSendStream[Incoming],
    outgoing: MemoryObjectSendStream[SessionMessage],
) -> None:
    reader = lines.LineReader(source, LINE_BYTES_MAX)
    async with incoming, outgoing:
        while line := await reader.line():
            if not line.strip():
                continue
            parsed = parse(line)
            if isinstance(parsed, JSONRPCError):
                await outgoing.send(SessionMessage(parsed))
            else:
                await incoming.send(parsed)


def parse(line: bytes) -> SessionMessage | JSONRPCError:
    """Read one line as a message, or build the error that answers it, under its own id where it has
    one."""
    if len(line) > LINE_BYTES_MAX:
        return _refusal(None, INVALID_REQUEST, f"a message may have {LINE_BYTES_MAX} bytes")
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:
        return _explain(line)


def _explain(line: bytes) -> JSONRPCError:
    try:
        data = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        return _refusal(None, PARSE_ERROR, "the message is not UTF-8: send UTF-8 JSON")
    except (ValueError, RecursionError):
        return _refusal(None, PARSE_ERROR, "the message is not JSON: send one object on one line")
    if isinstance(data, list):
        return _refusal(None, INVALID_REQUEST, "batches are not served: send one object a line")
    given = data.get("id") if isinstance(data, dict) else None
    own_id = given if isinstance(given, str | int) and not isinstance(given, bool) else None
    wanted = 'jsonrpc "2.0", a method, and text of valid Unicode (no lone surrogates)'
    return _refusal(own_id, INVALID_REQUEST, f"not a JSON-RPC 2.0 message: it needs {wanted}")


def _refusal(request_id: str | int | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))


async def _write(sink: int, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with outgoing:
        async for item in outgoing:
            # A peer that stopped reading ends the conversation instead of holding it for ever.
            with trio.fail_after(WRITE_DEADLINE_S):
                await lines.write(sink, _pack(item.message) + b"\n")


def _pack(message: JSONRPCMessage) -> bytes:
    """Write a message as one line of JSON, whatever names and ids it holds."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8")
    except PydanticSerializationError:
        # Lone surrogates: the name of a file that is not UTF-8, or what a client sent as its id.
        return json.dumps(
            message.model_dump(mode="python", by_alias=True, exclude_unset=True)
        ).encode()


def exchange_is_over(error: BaseException) -> bool:
    """Tell whether the error only says that the other side has left."""
    return isinstance(error, BrokenPipeError | anyio.BrokenResourceError | trio.TooSlowError)
