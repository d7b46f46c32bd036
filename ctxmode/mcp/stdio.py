"""Server for one client on stdin and stdout, one message per line, with trio.

Requests that need no project are answered at once, from data. All others wait until the rest of the
program is loaded in parallel, because hosts drop a server that is slow to answer `initialize`. The
SDK's server takes 0.6 s to import, so it is used only for HTTP.
"""

from __future__ import annotations

import fcntl
import importlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from ctxmode import command_line
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError
from ctxmode.mcp import protocol
from ctxmode.mcp import server as listing
from ctxmode.mcp.handover import Beside, Journal, hand_back, hand_over
from ctxmode.mcp.protocol import (
    INTERNAL_ERROR,
    LINE_BYTES_MAX,
    Envelope,
    Id,
    MalformedError,
    ProtocolError,
    Request,
    Response,
    pack,
    pack_error,
    parse,
)

if TYPE_CHECKING:
    from ctxmode.mcp.client import Projects
    from ctxmode.mcp.server import Offer, Server
    from ctxmode.open_apps import OpenApps

WRITE_DEADLINE_S = 60.0
CANCEL_S_MAX = 1.0
END_S_MAX = 10.0
LOST = "the server was lost during this call, so its result is unknown; call again"


async def serve_stdio(config: Config, tools: Offer, journal: int | None = None) -> bool:
    """Serve one client until stdin ends, or stdout has no reader any more. With a `journal`, return
    True once the shared instance can serve it."""
    with _take_descriptors() as (source, sink):
        is_handed_over = await serve_client(config, tools, (source, sink), journal)
        if is_handed_over:
            os.dup2(source, 0)
            os.dup2(sink, 1)
    return is_handed_over


async def serve_client(
    config: Config,
    tools: Offer,
    ends: tuple[int, int],
    journal: int | None,
    beside: Beside | None = None,
) -> bool:
    """Serve one client at two descriptors, as `serve_stdio` does, perhaps `beside` others. Then
    return True if the client's process must serve it, because this one ends."""
    connection = None
    try:
        async with trio.open_nursery() as nursery:
            notes = None if journal is None else Journal(journal)
            owner = beside.owner if beside else ""
            connection = Connection(ends[1], tools, nursery, owner, notes)
            is_resumed = await connection.resume()
            apps = beside.apps if beside else None
            nursery.start_soon(_open_server, config, tools, connection, apps)
            nursery.start_soon(connection.read, protocol.LineReader(ends[0], LINE_BYTES_MAX))
            if beside:
                nursery.start_soon(hand_back, connection, beside.ending)
            elif journal is not None and not is_resumed:  # the instance may have refused it
                nursery.start_soon(hand_over, connection)
    except* (BrokenPipeError, trio.TooSlowError):
        pass
    return connection is not None and connection.is_handed_over


async def _open_server(
    config: Config, tools: Offer, connection: Connection, apps: OpenApps | None
) -> None:
    await trio.to_thread.run_sync(load_what_calls_need)
    from ctxmode.mcp.client import open_projects  # noqa: PLC0415 - already loaded
    from ctxmode.mcp.server import Server  # noqa: PLC0415

    async with open_projects(config, apps) as projects:
        connection.open(Server(projects, tools.callable))
        projects.nursery.start_soon(connection.open_ahead, projects)
        try:
            await trio.sleep_forever()
        finally:
            if apps:
                with trio.move_on_after(END_S_MAX, shield=True):
                    await projects.end_owner(connection.owner)


def load_what_calls_need() -> None:
    """Load the modules of every call, and those of the most frequent tool."""
    for name in ("ctxmode.mcp.server", "ctxmode.mcp.tools.runs"):
        importlib.import_module(name)
    from ctxmode.mcp import conversation  # noqa: PLC0415 - already loaded

    conversation.configure()
    command_line.resume_collection()


@contextmanager
def _take_descriptors() -> Iterator[tuple[int, int]]:
    """Move fds 0 and 1 to private ones, so that no other output reaches the protocol; inside, fd 0
    is the null device and fd 1 is stderr."""
    source, sink = _take_descriptor(0, os.devnull), _take_descriptor(1, 2)
    try:
        yield source, sink
    finally:
        os.close(source)
        os.close(sink)


def _take_descriptor(fd: int, instead: str | int) -> int:
    private = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    other = os.dup(instead) if isinstance(instead, int) else os.open(instead, os.O_RDONLY)
    os.dup2(other, fd)
    os.close(other)
    return private


class Connection:
    """A client over stdio, with its running requests. Its owner is empty if it is the only one of
    its server."""

    def __init__(
        self,
        sink: int,
        tools: Iterable[str],
        nursery: trio.Nursery,
        owner: str = "",
        journal: Journal | None = None,
    ) -> None:
        self.owner = owner
        self.has_called = False
        self.is_handed_over = False
        self._journal = journal
        self._greeting: Mapping[str, Any] | None = None
        self._is_waiting = False  # for the next line
        self._reader: protocol.LineReader | None = None
        self._sink = sink
        self._tools = tools
        self._nursery = nursery
        self._writing = trio.Lock()
        self._server: Server | None = None
        self._opened = trio.Event()
        self._greeted = trio.Event()
        self._handshake: Envelope | None = None
        self._requests: dict[Id | None, trio.CancelScope] = {}
        self._questions: dict[Id, trio.MemorySendChannel[Response]] = {}
        self._numbers = count(1)

    def open(self, server: Server) -> None:
        """Start answering requests that need a project."""
        self._server = server
        self._opened.set()

    @property
    def is_idle(self) -> bool:
        """Return whether the client has greeted, and neither an answer nor a line is pending."""
        is_between = self._is_waiting and self._reader is not None and self._reader.is_empty
        return is_between and self._greeting is not None and not self._requests

    async def open_ahead(self, projects: Projects) -> None:
        """Open the client's project once it has greeted, and run a shell there. Its first call
        reports whatever fails."""
        from ctxmode.mcp.client import Client  # noqa: PLC0415 - already loaded

        await self._greeted.wait()
        if self._handshake is not None:
            with suppress(ContextModeError):
                app = await Client(_Exchange(self, self._handshake, {}), projects).app()
                await app.warm_up()

    def hand_over(self) -> None:
        """End, so that another server can serve the client."""
        self.is_handed_over = True
        self._nursery.cancel_scope.cancel()

    async def resume(self) -> bool:
        """Continue after another server was lost: its greeting is valid, and its calls failed.
        Return whether there was one."""
        greeting, running = self._journal.read() if self._journal else (None, [])
        if greeting is not None:
            self._greeting = greeting
            self._handshake = protocol.read_handshake(greeting)
            self._greeted.set()
        for request_id in running:
            await self.write(pack_error(request_id, ProtocolError(INTERNAL_ERROR, LOST)))
        self._note()
        return greeting is not None

    def _note(self) -> None:
        if self._journal:
            self._journal.note(self._greeting, list(self._requests))

    async def read(self, reader: protocol.LineReader) -> None:
        """Handle messages until the input ends, which ends the server."""
        self._reader = reader
        while True:
            self._is_waiting = True
            line = await reader.line()
            self._is_waiting = False
            if not line:
                break
            if not line.strip():
                continue
            try:
                message = parse(line)
            except MalformedError as error:
                await self.write(pack_error(error.id, error))
                continue
            if isinstance(message, Response):
                if question := self._questions.get(message.id):
                    with suppress(trio.WouldBlock):  # it was answered before
                        question.send_nowait(message)
            elif message.id is None:
                self._take_notification(message)
            else:
                await self._take_request(message)
        self._nursery.cancel_scope.cancel()

    def _take_notification(self, message: Request) -> None:
        if message.method == "notifications/initialized":
            self._greeted.set()
        elif message.method == "notifications/cancelled":
            request_id = message.params.get("requestId")
            if isinstance(request_id, str | int) and (scope := self._requests.get(request_id)):
                scope.cancel()
        elif message.method == "notifications/roots/list_changed" and self._server:
            self._server.forget_root()

    async def _take_request(self, request: Request) -> None:
        """Answer a request at once if it needs no project, so that answers keep their order; else
        in a separate task."""
        try:
            envelope = self._envelope_of(request)
            result = listing.answer_listing(request.method, envelope, self._tools)
        except ProtocolError as error:
            await self.write(pack_error(request.id, error))
            return
        if result is not None:
            await self._answer(request, envelope, result)
        elif request.id in self._requests:
            problem = f"a request with the id {request.id!r} is already running"
            refusal = ProtocolError(protocol.INVALID_REQUEST, problem)
            await self.write(pack_error(request.id, refusal))
        else:
            self.has_called = self.has_called or request.method == "tools/call"
            self._requests[request.id] = trio.CancelScope()
            self._note()
            self._nursery.start_soon(self._carry_out, request, envelope)

    def _envelope_of(self, request: Request) -> Envelope:
        if request.method == "initialize":
            self._handshake = protocol.read_handshake(request.params)
            self._greeting = request.params
            self._note()
            return self._handshake
        own = protocol.read_envelope(request.params)
        if own is not None:
            return own
        if request.method == "server/discover":
            problem = f"params._meta needs {protocol.REVISION_KEY} and {protocol.CAPABILITIES_KEY}"
            raise ProtocolError(protocol.INVALID_PARAMS, problem)
        if self._handshake is None and request.method != "ping":
            problem = "initialize comes first, or params._meta names a revision without it"
            raise ProtocolError(protocol.INVALID_REQUEST, problem)
        return self._handshake or Envelope(protocol.HANDSHAKE_REVISIONS[-1], "", {})

    async def _carry_out(self, request: Request, envelope: Envelope) -> None:
        """Answer a request, unless the client cancels it."""
        scope = self._requests[request.id]
        try:
            with scope:
                while (server := self._server) is None:
                    await self._opened.wait()
                given = request.params.get("_meta")
                exchange = _Exchange(self, envelope, given if isinstance(given, dict) else {})
                result = await server.answer(exchange, request.method, request.params)
            if not scope.cancelled_caught:
                await self._answer(request, envelope, result)
        except ProtocolError as error:
            await self.write(pack_error(request.id, error))
        finally:
            del self._requests[request.id]
            self._note()

    async def _answer(
        self, request: Request, envelope: Envelope, result: Mapping[str, Any]
    ) -> None:
        whole = protocol.complete(result, request.method, envelope.revision)
        await self.write(pack({"jsonrpc": "2.0", "id": request.id, "result": whole}))

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send the client a request and await its result. Raise ProtocolError if the client
        refused."""
        number = next(self._numbers)
        self._questions[number], answer = trio.open_memory_channel[Response](1)
        try:
            await self.write(
                pack({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            )
            response = await answer.receive()
        except trio.Cancelled:
            with trio.move_on_after(CANCEL_S_MAX, shield=True):
                await self.tell("notifications/cancelled", {"requestId": number})
            raise
        finally:
            del self._questions[number]
        if response.result is None:
            raise ProtocolError(protocol.INTERNAL_ERROR, f"the client refused {method}")
        return response.result

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send the client a notification."""
        await self.write(pack({"jsonrpc": "2.0", "method": method, "params": params}))

    async def write(self, line: bytes) -> None:
        """Write a whole line. Raise TooSlowError if the client stopped reading, or BrokenPipeError
        if it is gone; both end the conversation."""
        # Awaiting a free lock would let other tasks run before the answer is written.
        try:
            self._writing.acquire_nowait()
        except trio.WouldBlock:
            await self._writing.acquire()
        try:
            with trio.fail_after(WRITE_DEADLINE_S):
                await protocol.write(self._sink, line)
        finally:
            self._writing.release()


@dataclass(frozen=True, slots=True)
class _Exchange:
    """One request's `Conversation`."""

    connection: Connection
    envelope: Envelope
    meta: Mapping[str, Any]
    holder: str = ""
    project: Path | None = None

    @property
    def owner(self) -> str:
        return self.connection.owner

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.envelope.revision in protocol.STATELESS_REVISIONS:
            problem = f"revision {self.envelope.revision} has no server requests"
            raise ProtocolError(protocol.METHOD_NOT_FOUND, problem)
        return await self.connection.ask(method, params)

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        await self.connection.tell(method, params)
