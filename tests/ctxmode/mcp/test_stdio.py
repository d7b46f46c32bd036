"""Lines into messages, or into the error that answers them."""

import json

import pytest
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, JSONRPCError

from ctxmode.mcp import stdio
from ctxmode.mcp.stdio import parse


def test_a_request_is_understood():
    parsed = parse(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert isinstance(parsed, SessionMessage)
    assert parsed.message.method == "ping"


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"not json", PARSE_ERROR, None),
        (b"{", PARSE_ERROR, None),
        (b"\xff\xfe", PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"\xff"}', PARSE_ERROR, None),
        (b"[" * 100_000, PARSE_ERROR, None),
        (b"[]", INVALID_REQUEST, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID_REQUEST, None),
        (b"null", INVALID_REQUEST, None),
        (b"42", INVALID_REQUEST, None),
        (b'"text"', INVALID_REQUEST, None),
        (b"{}", INVALID_REQUEST, None),
        (b'{"jsonrpc":"1.0","id":3,"method":"ping"}', INVALID_REQUEST, 3),
        (b'{"jsonrpc":"2.0","id":"a","method":5}', INVALID_REQUEST, "a"),
        (b'{"jsonrpc":"2.0","id":true,"method":5}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":4,"method":"ping","params":[1]}', INVALID_REQUEST, 4),
        (b'{"jsonrpc":"2.0","id":5,"method":"x","params":{"a":"\\ud800"}}', INVALID_REQUEST, 5),
    ],
)
def test_a_malformed_line_is_answered_under_its_own_id_where_it_has_one(line, code, request_id):
    answer = parse(line)
    assert isinstance(answer, JSONRPCError)
    assert (answer.error.code, answer.id) == (code, request_id)
    assert json.loads(answer.model_dump_json(by_alias=True))["jsonrpc"] == "2.0"


def test_a_line_beyond_the_bound_is_refused(monkeypatch):
    monkeypatch.setattr(stdio, "LINE_BYTES_MAX", 100)
    assert isinstance(parse(b"x" * 101), JSONRPCError)
