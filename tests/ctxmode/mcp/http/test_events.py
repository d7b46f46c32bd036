"""Events of a conversation: what came after one of them is sent again."""

import pytest
from mcp.types import JSONRPCNotification

from ctxmode.mcp.http import serving
from ctxmode.mcp.http.serving import Events


def message(word):
    return JSONRPCNotification(jsonrpc="2.0", method=word)


async def replay(store, after):
    sent = []

    async def send(event):
        sent.append((event.event_id, event.message.method))

    return await store.replay_events_after(after, send), sent


@pytest.fixture
async def store():
    """Two streams: each is opened, then has two messages."""
    filled = Events()
    for stream, word in (("1", None), ("2", None), ("1", "a"), ("2", "x"), ("1", "b"), ("2", "y")):
        await filled.store_event(stream, word and message(word))
    return filled


@pytest.mark.parametrize(
    ("after", "stream", "sent"),
    [
        ("1", "1", [("3", "a"), ("5", "b")]),
        ("3", "1", [("5", "b")]),
        ("5", "1", []),
        ("2", "2", [("4", "x"), ("6", "y")]),
        ("7", None, []),
        ("", None, []),
    ],
)
async def test_what_came_later_on_its_stream_is_sent_again(store, after, stream, sent):
    assert await replay(store, after) == (stream, sent)


@pytest.mark.parametrize(("limit", "value"), [("EVENTS_MAX", 2), ("BYTES_MAX", 120)])
async def test_the_oldest_are_dropped(store, monkeypatch, limit, value):
    monkeypatch.setattr(serving, limit, value)
    await store.store_event("2", message("z"))
    assert await replay(store, "1") == (None, [])
    assert await replay(store, "6") == ("2", [("7", "z")])
