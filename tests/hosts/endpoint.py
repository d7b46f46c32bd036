"""A model's endpoint on loopback that does what a script says, and records what it is shown.

It speaks Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini. Requests that offer
no tools are side requests (titles, summaries, checks): each gets a harmless answer.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.hosts.script import Answer, Call, Deferral, Shown, ToolUse, Transcript, Turn
from tests.hosts.wires.anthropic import ANTHROPIC
from tests.hosts.wires.chat import CHAT
from tests.hosts.wires.gemini import GEMINI
from tests.hosts.wires.responses import RESPONSES
from tests.hosts.wires.wire import Wire, to_sse

DONE = "All steps are done."
HARMLESS = '{"title": "A task", "isNewTopic": false, "reasoning": "none", "model_choice": "pro"}'
FEW_TOOLS = 2  # a side request may offer one or two tools of its own for structured answers
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


class Conversation:
    """A script's progress over the requests of one run. All methods may be called from threads.

    `deferral` says how to get a tool that was not offered at first.
    """

    def __init__(self, steps: Sequence[Call], deferral: Deferral | None = None) -> None:
        self._steps = steps
        self._deferral = deferral
        self._searched: set[int] = set()
        self._is_search = False
        self._at = 0  # the step that is under way, or comes next
        self._answers: dict[int, tuple[str, str]] = {}
        self._begun: set[int] = set()
        self._missing: set[int] = set()
        self._under_way: Call | None = None
        self._results_before = 0
        self._first: tuple[float, tuple[str, ...]] | None = None
        self._bodies: list[str] = []
        self._side = 0
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def begin_time(self) -> None:
        """Count the time to the first request from now."""
        self._began = time.monotonic()

    def note(self, body: str, *, is_side: bool) -> None:
        """Keep a request's body."""
        with self._lock:
            self._bodies.append(body)
            self._side += is_side

    def answer(self, turn: Turn) -> Answer:
        """What the model says now. A repeated request gets the same answer again."""
        with self._lock:
            if self._first is None:
                seconds = time.monotonic() - self._began
                self._first = seconds, tuple(tool.full_name for tool in turn.tools)
            if self._under_way and len(turn.results) > self._results_before:
                if not self._is_search:
                    self._answers[self._at] = turn.results[-1], turn.beside
                    self._at += 1
                self._under_way = None
            while self._at < len(self._steps):
                if call := self._next_call(turn):
                    self._under_way = call
                    self._begun.add(self._at)
                    self._results_before = len(turn.results)
                    tool = turn.find(call.tool)
                    assert tool is not None
                    return ToolUse(f"step{self._at}x{len(turn.results)}", tool, call.arguments)
                self._missing.add(self._at)
                self._at += 1
            return DONE

    def _next_call(self, turn: Turn) -> Call | None:
        """The step's call, or else what gets its tool; None if nothing does."""
        step = self._steps[self._at]
        self._is_search = False
        if turn.find(step.tool):
            return step
        if self._deferral is None:
            return None
        if self._at in self._searched:
            through = self._deferral.through
            return through(step) if through else None
        self._searched.add(self._at)
        search = self._deferral.search(step.tool)
        self._is_search = turn.find(search.tool) is not None
        return search if self._is_search else None

    def transcript(self) -> Transcript:
        """What was recorded so far."""
        with self._lock:
            shown = tuple(
                Shown(
                    step,
                    at not in self._missing,
                    at in self._begun,
                    *self._answers.get(at, (None, "")),
                )
                for at, step in enumerate(self._steps)
            )
            seconds, tools = self._first or (None, ())
            return Transcript(tools, shown, tuple(self._bodies), seconds, self._side)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 120
    server: _Server

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
        is_side = len(turn.tools) <= FEW_TOOLS
        self.server.conversation.note(raw.decode(), is_side=is_side)
        answer = HARMLESS if is_side else self.server.conversation.answer(turn)
        if turn.is_streamed and not is_plain_asked:
            body = to_sse(wire.events(turn.model, answer), wire.end)
            self._send(body, "text/event-stream", 200)
        else:
            self._send_json(wire.whole(turn.model, answer))

    def _send_json(self, said: Mapping[str, Any], status: int = 200) -> None:
        self._send(json.dumps(said).encode(), "application/json", status)

    def _send(self, body: bytes, kind: str, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
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
