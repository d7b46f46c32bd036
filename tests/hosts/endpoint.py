"""A model's endpoint on loopback that does what a script says, and records what it is shown.

It speaks Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.hosts.conversation import Conversation
from tests.hosts.wires.anthropic import ANTHROPIC
from tests.hosts.wires.chat import CHAT
from tests.hosts.wires.gemini import GEMINI
from tests.hosts.wires.responses import RESPONSES
from tests.hosts.wires.wire import Wire, to_sse

BODY_BYTES_MAX = 64 << 20
_WIRES: Sequence[tuple[str, Wire]] = (
    ("/messages", ANTHROPIC),
    ("/responses", RESPONSES),
    ("/chat/completions", CHAT),
    ("enerateContent", GEMINI),
)
# Side paths, by the end of the path: what is answered there.
_SIDE_PATHS: Mapping[str, Mapping[str, Any]] = {
    "/count_tokens": {"input_tokens": 10},
    ":countTokens": {"totalTokens": 10},
}
_MODELS = {"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "nobody"}]}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 120
    server: _Server
    _request_id = ""

    def do_GET(self) -> None:
        """Answer questions for models; any other address has nothing."""
        is_models = "/models" in self.path
        self._send_json(_MODELS if is_models else {}, 200 if is_models else 404)

    def do_HEAD(self) -> None:
        """Say that somebody is here: a host asks before it begins."""
        self._send(b"", "text/plain", 200)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(min(length, BODY_BYTES_MAX))
        path, _, query = self.path.partition("?")
        for end, said in _SIDE_PATHS.items():
            if path.endswith(end):
                self._send_json(said)
                return
        wire = next((wire for part, wire in _WIRES if part in path), None)
        if wire is None:
            self._send_json({"error": {"message": f"no such path: {path}"}}, 404)
            return
        self._answer(wire, path, raw, is_plain_asked="alt=sse" not in query and wire is GEMINI)

    def _answer(self, wire: Wire, path: str, raw: bytes, *, is_plain_asked: bool) -> None:
        turn = wire.parse(path, json.loads(raw))
        sent = self.server.conversation.answer(turn, raw.decode())
        self._request_id = f"req_{sent.id}"
        if turn.is_streamed and not is_plain_asked:
            body = to_sse(wire.events(turn.model, sent), wire.end)
            self._send(body, "text/event-stream", 200)
        else:
            self._send_json(wire.whole(turn.model, sent))

    def _send_json(self, said: Mapping[str, Any], status: int = 200) -> None:
        self._send(json.dumps(said).encode(), "application/json", status)

    def _send(self, body: bytes, kind: str, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self._request_id:
            self.send_header("request-id", self._request_id)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *said: object) -> None:
        """Say nothing: what is asked is recorded."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, conversation: Conversation, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.conversation = conversation

    def handle_error(self, request: object, client_address: object) -> None:
        """Pass over a host that is gone before its answer."""


@contextmanager
def serving(conversation: Conversation, port: int = 0) -> Iterator[int]:
    """Serve a conversation on loopback while the block runs; the port, any free one for 0."""
    with _Server(conversation, port) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join(10)
