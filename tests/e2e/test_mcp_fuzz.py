"""Ten thousand bodies that are almost messages: none brings the server down."""

import json
import random
import subprocess
import threading
import time

from tests.e2e.fuzz import fuzzed
from tests.processes import DEADLINE_S, descriptors

BODIES = 10_000
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def line(number, method, **params):
    message = {"jsonrpc": "2.0", "id": f"mine-{number}", "method": method, "params": params}
    return json.dumps(message).encode() + b"\n"


def until_answered(stream, number):
    """The answers up to the one of that number."""
    answers = []
    for answer in stream:
        answers.append(json.loads(answer))
        if answers[-1].get("id") == f"mine-{number}":
            return answers
    raise AssertionError("the server has ended")


def test_no_line_brings_it_down_or_leaves_something_open(place):
    generator = random.Random(8)
    bodies = [fuzzed(generator).replace(b"\n", b" ") for _ in range(BODIES)]
    server = subprocess.Popen(
        [*place.command, "serve"],
        cwd=place.project, env=place.environment, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    warnings = []
    listener = threading.Thread(target=lambda: warnings.extend(server.stderr))
    listener.start()
    try:
        server.stdin.write(line(1, "initialize", **HELLO))
        server.stdin.write(line(2, "tools/call", name="ctx_search", arguments={"queries": "x"}))
        server.stdin.flush()
        until_answered(server.stdout, 2)
        before = descriptors(server.pid)

        def send():
            server.stdin.write(b"".join(body + b"\n" for body in bodies))
            server.stdin.write(line(3, "tools/list"))
            server.stdin.flush()

        sender = threading.Thread(target=send)
        sender.start()
        answers = until_answered(server.stdout, 3)
        sender.join()
        assert answers[-1]["result"]["tools"]
        assert len(answers) > BODIES / 4
        deadline = time.monotonic() + DEADLINE_S
        while descriptors(server.pid) > before and time.monotonic() < deadline:
            time.sleep(0.01)  # something may be looked at just now
        assert descriptors(server.pid) <= before
    finally:
        server.stdin.close()
        code = server.wait(60)
        listener.join()
        server.stdout.close()
        server.stderr.close()
    assert code == 0
    assert not [text for text in warnings if b"Traceback" in text or b"defect" in text]
