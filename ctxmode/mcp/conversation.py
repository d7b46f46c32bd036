"""A request's client as the transport provides it, and the client's log messages."""

from __future__ import annotations

import logging
import sys
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol

from base.secrets import redact
from ctxmode.mcp.protocol import LEVELS, LOG_LEVEL_KEY, Envelope


class Conversation(Protocol):
    """The client of one request. Parameters and results are the protocol's JSON."""

    @property
    def envelope(self) -> Envelope:
        """The client's name and capabilities, and its protocol revision."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the request."""

    @property
    def owner(self) -> str:
        """The ID of the client on its server; empty over stdio, which has only one."""

    @property
    def holder(self) -> str:
        """The name of the client's token; empty over stdio, which has no tokens."""

    @property
    def project(self) -> Path | None:
        """The folder that the request's URL names, or None."""

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send the client a request and await its result. Raise ProtocolError if the client
        refused, or returned no valid result."""

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send the client a notification."""


# Up to revision 2025-11-25 of the protocol a client sets a level for its conversation; from
# 2026-07-28 on each request has its own. Messages logged during a call are sent before its answer,
# and only to clients that requested a level.

CONVERSATIONS_MAX = 256
RECORDS_MAX = 100

_records: ContextVar[deque[logging.LogRecord] | None] = ContextVar("_records", default=None)


class Levels:
    """The requested level of each of the latest conversations."""

    def __init__(self) -> None:
        self._by_owner: OrderedDict[str, str] = OrderedDict()

    def set(self, owner: str, level: str) -> None:
        self._by_owner[owner] = level
        self._by_owner.move_to_end(owner)
        while len(self._by_owner) > CONVERSATIONS_MAX:
            self._by_owner.popitem(last=False)

    def find_levels(self, conversation: Conversation) -> frozenset[str]:
        """Return the levels that are sent for this call; empty if none was requested."""
        level = conversation.meta.get(LOG_LEVEL_KEY) or self._by_owner.get(conversation.owner)
        return frozenset(LEVELS[LEVELS.index(level) :] if level in LEVELS else ())


class _Collector(logging.Handler):
    """Handler that collects records for the call that runs in the same context."""

    def emit(self, record: logging.LogRecord) -> None:
        records = _records.get()
        if records is not None:
            records.append(record)


def configure() -> None:
    """Send warnings to stderr, and requested levels to clients."""
    errors = logging.StreamHandler(sys.stderr)
    errors.setLevel(logging.WARNING)
    logging.basicConfig(level=logging.WARNING, handlers=[errors, _Collector()])
    logging.getLogger("ctxmode").setLevel(logging.INFO)


@contextmanager
def collect_records() -> Iterator[deque[logging.LogRecord]]:
    """Collect the latest RECORDS_MAX records that are logged inside."""
    records: deque[logging.LogRecord] = deque(maxlen=RECORDS_MAX)
    token = _records.set(records)
    try:
        yield records
    finally:
        _records.reset(token)


async def tell(
    conversation: Conversation,
    records: deque[logging.LogRecord],
    wanted: frozenset[str],
) -> None:
    """Send the records of the wanted levels, without secrets."""
    for record in tuple(records):
        word = record.levelname.lower()
        level = word if word in LEVELS else "notice"
        if level in wanted:
            text = redact(record.getMessage())[0]
            message = {"level": level, "logger": record.name, "data": text}
            await conversation.tell("notifications/message", message)
