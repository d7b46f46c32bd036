"""A web server of the test's own on this machine, which registries are made of."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

HTML = "text/html"
JSON = "application/json"
BYTES = "application/octet-stream"


@dataclass
class Served:
    """What is served, by path: (content type, content). `asked` is what was asked for."""

    port: int
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)
    held: tuple[str, ...] = ()  # paths whose answers wait for `hold`, by a part of them
    reached: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def count(self, part: str) -> int:
        """How often something with this in its path was asked for."""
        return sum(part in path for path in self.asked)


@contextmanager
def serve() -> Iterator[Served]:
    """A server with nothing in it yet."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(self.path.split("?")[0])
            served.asked.append(path)
            if any(part in path for part in served.held):
                served.reached.set()
                served.hold.wait(60)
            asked = unquote(self.path)  # some registries are asked by a query
            kind, content = served.files.get(asked) or served.files.get(path, ("", b""))
            self.send_response(200 if kind else 404)
            self.send_header("Content-Type", kind or HTML)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET  # noqa: N815 - as the server calls it

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served = Served(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield served
    finally:
        served.hold.set()
        server.shutdown()
        server.server_close()
        thread.join()
