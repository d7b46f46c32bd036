"""A server that is killed at any moment: nothing acknowledged is lost, and nothing is left."""

import json
import os
import random
import sqlite3
import subprocess
import threading
import time
from contextlib import closing

import pytest

from tests.processes import DEADLINE_S, alive, unique_s

# Fifty by hand (about three minutes): CTXMODE_KILLS=50 pytest tests/e2e/test_killed_server.py
KILLS = int(os.environ.get("CTXMODE_KILLS", "5"))
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Talk:
    """One conversation with a server, spoken by hand so that its end can be any moment."""

    def __init__(self, place, mark):
        self.mark = mark
        self.acknowledged = []
        self.pending = {}
        self.first_answer = threading.Event()
        self.process = subprocess.Popen(
            [*place.command, "serve"],
            cwd=place.project, env=place.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._number = 0
        self.ask("initialize", HELLO)
        self.reader = threading.Thread(target=self._listen)
        self.reader.start()

    def ask(self, method, params):
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return self._number

    def keep(self, label):
        """Have a document indexed, which counts as kept once that is answered."""
        content = f"# {label}\n\nthe word of {label} is {label}word\n" + "filling text\n" * 500
        arguments = {"content": content, "source": label}
        self.pending[self._number + 1] = label
        self.ask("tools/call", {"name": "ctx_index", "arguments": arguments})

    def work(self):
        """Have a program run that leaves processes behind and prints much."""
        code = f"(setsid sleep {self.mark} &); seq 200000; sleep {self.mark}"
        arguments = {"language": "shell", "code": code, "timeout": 60_000}
        self.ask("tools/call", {"name": "ctx_execute", "arguments": arguments})

    def _listen(self):
        for line in self.process.stdout:
            if not line.endswith(b"\n"):
                break
            answer = json.loads(line)
            label = self.pending.get(answer.get("id"))
            if label and not answer["result"].get("isError"):
                self.acknowledged.append(label)
                self.first_answer.set()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


def until_gone(mark):
    deadline = time.monotonic() + DEADLINE_S
    while (left := alive(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


@pytest.mark.parametrize("seed", range(KILLS))
def test_nothing_acknowledged_is_lost_and_nothing_is_left(place, seed):
    moments = random.Random(seed)
    mark = unique_s()
    talk = Talk(place, mark)
    try:
        for number in range(12):
            talk.keep(f"doc{seed}x{number}")
            if number % 4 == 0:
                talk.work()
        assert talk.first_answer.wait(60)
        time.sleep(moments.uniform(0, 0.5))
    finally:
        talk.kill()

    assert until_gone(mark) == []
    databases = list((place.data / "projects").glob("*.sqlite3"))
    assert databases
    for database in databases:
        with closing(sqlite3.connect(database)) as connection, connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
    query = [f"{label}word" for label in talk.acknowledged]
    found = json.loads(place.run("search", *query, "--json").stdout)
    titles = json.dumps(found)
    assert [label for label in talk.acknowledged if label not in titles] == []
    # The next start sweeps what the dead server had.
    assert place.run("run", "shell", "-c", "echo on").stdout == b"on\n"
    state = place.data / "state"
    assert list((state / "spool").iterdir()) == []
    left = {entry.name for entry in (state / "instances").iterdir()}
    assert left <= {"registry.lock"}
