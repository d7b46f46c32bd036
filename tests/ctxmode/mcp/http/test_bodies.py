"""What a body over HTTP may be: one JSON object that everybody reads alike."""

import pytest

from ctxmode.mcp.http import gate

BYTES_MAX = 200_000


def in_pieces(body: bytes, size: int = 7_000):
    pieces = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
    messages = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
        for number, piece in enumerate(pieces, 1)
    ]

    async def receive():
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    return receive


async def problem(body: bytes) -> str:
    return await gate.find_problem(await gate.receive_body(in_pieces(body), BYTES_MAX), BYTES_MAX)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"method": "ping", "id": 1}', ""),
        (b'{"a": {"x": 1}, "b": {"x": 2}}', ""),
        (b'{"method": "ping", "method": "tools/call"}', "is repeated"),
        (b'{"params": [{"name": 1, "name": 2}]}', "is repeated"),
        (b'{"id": NaN}', "NaN"),
        (b'{"id": -Infinity}', "-Infinity"),
        (b'{"id": ' + b"9" * 5_000 + b"}", "not valid JSON"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"a":' * 20_000, "nested too deep"),
        (b"[]", "not a JSON object"),
        (b'"text"', "not a JSON object"),
        (b"", "not valid JSON"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b"\xef\xbb\xbf{}", "not valid JSON"),
    ],
    ids=lambda value: repr(value)[:30],
)
async def test_a_body_that_means_two_things_or_none_is_told(body, told):
    found = await problem(body)
    assert told in found
    assert bool(found) == bool(told)


async def test_a_body_that_is_too_large_is_for_others_to_refuse():
    assert await problem(b"[" + b" " * BYTES_MAX) == ""


async def test_what_was_read_is_received_again():
    receive = in_pieces(b"x" * 20_000)
    messages = await gate.receive_body(receive, BYTES_MAX)
    again = gate.replay(messages, receive)
    assert b"".join([(await again())["body"] for _ in messages]) == b"x" * 20_000
    assert await again() == {"type": "http.disconnect"}
