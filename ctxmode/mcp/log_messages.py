"""Sends what the server logs about a call to clients that ask for it: `notifications/message`.

Up to revision 2025-11-25 of the protocol a client sets a level for its conversation; from
2026-07-28 on each request names its own. What is logged while a call goes on comes before the
call's answer, and a client that asked for nothing gets nothing.
"""

from __future__ import annotations

import logging
import sys
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ctxmode.mcp.conversation import Conversation
from ctxmode.mcp.protocol import LEVELS, LOG_LEVEL_KEY
from policy.secrets import redact

CONVERSATIONS_MAX = 256
RECORDS_MAX = 100

_WORDS = {
    "DEBUG": "debug", "INFO": "info", "WARNING": "warning", "ERROR": "error",
    "CRITICAL": "critical",
}  # fmt: skip
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
        level = _WORDS.get(record.levelname, "notice")
        if level in wanted:
            text = redact(record.getMessage()).text
            message = {"level": level, "logger": record.name, "data": text}
            await conversation.tell("notifications/message", message)
