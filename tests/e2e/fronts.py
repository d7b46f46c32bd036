"""Plain HTTP in front of a server, for clients that speak neither tokens nor pipes."""

import http.client
import json
import subprocess
import threading
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import urlsplit

ANSWER_S_MAX = 60
OF_A_CONNECTION = ("connection", "content-length", "transfer-encoding")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Say nothing on stderr."""

    def body(self):
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def reply(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Say nothing of a side that leaves in the middle."""


@contextmanager
def _serving(handler):
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def with_token(url, token):
    """Hand on requests with a token; a Host that names this front is put right, others stay."""
    there = urlsplit(url).netloc

    class Handler(_Handler):
        def hand_on(self):
            upstream = http.client.HTTPConnection(there, timeout=ANSWER_S_MAX)
            with closing(upstream), suppress(OSError, http.client.HTTPException):  # a side left
                self.exchange(upstream)

        def exchange(self, upstream):
            own = "{}:{}".format(*self.server.server_address)
            body = self.body()
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                upstream.putheader(name, value.replace(own, there))
            upstream.putheader("Authorization", f"Bearer {token}")
            upstream.endheaders(body or None)
            with upstream.getresponse() as answer:
                self.send_response_only(answer.status, answer.reason)
                for name, value in answer.getheaders():
                    if name.lower() not in OF_A_CONNECTION:
                        self.send_header(name, value)
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                while piece := answer.read1(65536):
                    self.wfile.write(piece)
                    self.wfile.flush()

        do_GET = do_POST = do_DELETE = hand_on  # noqa: N815 - as the library names them

    with _serving(Handler) as front:
        yield front


@contextmanager
def over_a_pipe(command, **options):
    """Hand on requests to a server over its pipe, and each answer to who asked."""
    numbers, asking = count(1), threading.Lock()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options
    ) as process:

        def exchange(message):
            with asking:
                own = {**message, "id": next(numbers)} if "id" in message else message
                process.stdin.write(json.dumps(own).encode() + b"\n")
                process.stdin.flush()
                if "id" not in message:
                    return None
                for line in process.stdout:
                    answer = json.loads(line)
                    if answer.get("id") == own["id"] and "method" not in answer:
                        return {**answer, "id": message["id"]}
            raise AssertionError("the server has ended")

        class Handler(_Handler):
            def do_POST(self):
                answer = exchange(json.loads(self.body()))
                self.reply(202) if answer is None else self.reply(200, json.dumps(answer).encode())

            def do_GET(self):
                self.reply(405)

        with _serving(Handler) as front:
            yield front
        process.stdin.close()
        assert process.wait(ANSWER_S_MAX) == 0
