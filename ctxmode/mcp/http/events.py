"""What a conversation was sent lately, so that a client whose stream broke can go on from there."""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import NamedTuple

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import JSONRPCMessage

EVENTS_MAX = 256
BYTES_MAX = 4 * 1024 * 1024
RETRY_MS = 1000
"""How long a client is asked to wait before it takes up a stream again."""


class _Event(NamedTuple):
    number: int
    stream: str
    message: JSONRPCMessage | None
    bytes: int


class Events(EventStore):
    """The latest events of one conversation; the oldest are dropped beyond either limit."""

    def __init__(self) -> None:
        self._events: deque[_Event] = deque()
        self._numbers = count(1)
        self._bytes = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event of a stream and return its id; None is the event that opens a stream."""
        size = 0 if message is None else len(message.model_dump_json())
        event = _Event(next(self._numbers), stream_id, message, size)
        self._events.append(event)
        self._bytes += size
        while len(self._events) > EVENTS_MAX or self._bytes > BYTES_MAX:
            self._bytes -= self._events.popleft().bytes
        return str(event.number)

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        """Send what came after an event of its stream, and return the stream; None if the event is
        not known any more."""
        known = next((one for one in self._events if str(one.number) == last_event_id), None)
        if known is None:
            return None
        for event in tuple(self._events):
            is_later = event.stream == known.stream and event.number > known.number
            if is_later and event.message is not None:
                await send_callback(EventMessage(event.message, str(event.number)))
        return known.stream


class Conversations(StreamableHTTPSessionManager):
    """The SDK's conversations with events of their own each: the SDK names streams by the ids of
    requests, which are the same in every conversation."""

    @property
    def event_store(self) -> EventStore:
        """A new store: the SDK asks once for each conversation."""
        return Events()

    @event_store.setter
    def event_store(self, given: EventStore | None) -> None:
        """Take no notice of what the SDK sets, which would be one for all."""
