"""What a transport hands over with a request: who asks, and how that client is asked and told."""

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
    """One request's view of its client. Parameters and results are JSON as the protocol has it."""

    @property
    def envelope(self) -> Envelope:
        """The client's name and capabilities, and the revision that is spoken."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the request."""

    @property
    def owner(self) -> str:
        """The client among those of one server; empty over stdio, which has one only."""

    @property
    def holder(self) -> str:
        """The name of the token that let the client in; empty over stdio, which has none."""

    @property
    def project(self) -> Path | None:
        """The folder that the request's address names; None where it names none."""

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send the client a request and await its result.

        Raises:
            ProtocolError: the client refused, or gave no result of that method.
        """

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send the client a notification."""


# Up to revision 2025-11-25 of the protocol a client sets a level for its conversation; from
# 2026-07-28 on each request names its own. What is logged while a call goes on comes before the
# call's answer, and a client that asked for nothing gets nothing.

CONVERSATIONS_MAX = 256
RECORDS_MAX = 100

_records: ContextVar[deque[logging.LogRecord] | None] = ContextVar("_records", default=None)


class Levels:
    """The level that each conversation asked for, of the latest that did."""

    def __init__(self) -> None:
        self._by_owner: OrderedDict[str, str] = OrderedDict()

    def set(self, owner: str, level: str) -> None:
        self._by_owner[owner] = level
        self._by_owner.move_to_end(owner)
        while len(self._by_owner) > CONVERSATIONS_MAX:
            self._by_owner.popitem(last=False)

    def find_levels(self, conversation: Conversation) -> frozenset[str]:
        """Return the levels that are sent for this call; none if nobody asked."""
        level = conversation.meta.get(LOG_LEVEL_KEY) or self._by_owner.get(conversation.owner)
        return frozenset(LEVELS[LEVELS.index(level) :] if level in LEVELS else ())


class _Collector(logging.Handler):
    """Keeps what is logged for the call that goes on in the same context."""

    def emit(self, record: logging.LogRecord) -> None:
        records = _records.get()
        if records is not None:
            records.append(record)


def configure() -> None:
    """Send warnings to stderr, and to clients what they ask for."""
    errors = logging.StreamHandler(sys.stderr)
    errors.setLevel(logging.WARNING)
    logging.basicConfig(level=logging.WARNING, handlers=[errors, _Collector()])
    logging.getLogger("ctxmode").setLevel(logging.INFO)


@contextmanager
def collect_records() -> Iterator[deque[logging.LogRecord]]:
    """Collect what is logged inside, the latest of it."""
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
    """Send those of the wanted levels, without secrets."""
    for record in tuple(records):
        word = record.levelname.lower()
        level = word if word in LEVELS else "notice"
        if level in wanted:
            text = redact(record.getMessage())[0]
            message = {"level": level, "logger": record.name, "data": text}
            await conversation.tell("notifications/message", message)
