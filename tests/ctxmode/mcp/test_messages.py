"""Lines into messages, or into the error that answers them."""

import json

import pytest

from ctxmode.mcp import protocol
from ctxmode.mcp.protocol import (
    INVALID_REQUEST,
    PARSE_ERROR,
    MalformedError,
    Request,
    Response,
    pack,
    pack_error,
    parse,
)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', Request(1, "ping", {})),
        (b'{"jsonrpc":"2.0","id":"a","method":"x","params":{"y":"\\ud83d\\ude00"}}',
         Request("a", "x", {"y": "\U0001f600"})),
        (b'{"jsonrpc":"2.0","method":"x"}', Request(None, "x", {})),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', Response(1, {}, None)),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}', Response(1, None, {"code": 1})),
    ],
)  # fmt: skip
def test_a_message_is_understood(line, message):
    assert parse(line + b"\n") == message


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
        (b'{"jsonrpc":"2.0","id":6,"method":"x","params":{"a":NaN}}', PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":7,"result":{},"error":{}}', INVALID_REQUEST, 7),
        (b'{"jsonrpc":"2.0","id":8.5,"method":"ping"}', INVALID_REQUEST, None),
    ],
)
def test_a_malformed_line_is_answered_under_its_own_id_where_it_has_one(line, code, request_id):
    with pytest.raises(MalformedError) as refused:
        parse(line)
    assert (refused.value.code, refused.value.id) == (code, request_id)
    answer = json.loads(pack_error(refused.value.id, refused.value))
    assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", request_id, code)


def test_a_line_beyond_the_bound_is_refused(monkeypatch):
    monkeypatch.setattr(protocol, "LINE_BYTES_MAX", 100)
    with pytest.raises(MalformedError):
        parse(b"x" * 101)


def test_a_name_that_is_not_unicode_is_packed():
    assert json.loads(pack({"name": "a\udcff"})) == {"name": "a\udcff"}
