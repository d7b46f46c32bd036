"""Every bad input, at both doors: a clear error that says what to do, and the door stays open."""

import json
import os
import signal
import subprocess

import pytest

BIG = "# " + "x" * 10 * 1024 * 1024

# What is asked, and a word of the answer. Paths are of the project that `place` makes.
RUNS = {
    "unknown language": ({"language": "pyhton", "code": "1"}, "python"),
    "no language": ({"language": "", "code": "1"}, "language"),
    "empty code": ({"language": "python", "code": ""}, "empty"),
    "blank code": ({"language": "python", "code": " \n"}, "empty"),
    "NUL in the code": ({"language": "python", "code": "print(1)\0"}, "NUL"),
    "code of 10 MB": ({"language": "python", "code": BIG}, "bytes"),
    "cwd outside": ({"language": "shell", "code": "ls", "cwd": ".."}, "outside"),
    "cwd outside by a link": ({"language": "shell", "code": "ls", "cwd": "way-out"}, "outside"),
    "cwd missing": ({"language": "shell", "code": "ls", "cwd": "nowhere"}, "nowhere"),
    "cwd is a file": ({"language": "shell", "code": "ls", "cwd": "app.log"}, "folder"),
    "NUL in cwd": ({"language": "shell", "code": "ls", "cwd": "a\0b"}, "NUL"),
    "unknown profile": ({"language": "shell", "code": "ls", "profile": "yolo"}, "analyze"),
}
FILES = {
    "missing file": ("nowhere.csv", "nowhere.csv"),
    "folder as file": ("docs", "folder"),
    "file outside": ("../outside.txt", "outside"),
    "file outside by a link": ("out.txt", "outside"),
    "NUL in the path": ("a\0b", "NUL"),
    "empty path": ("", "path"),
}
COMMAND_LINES = {
    "no program": (("run",), 2, "LANGUAGE"),
    "two programs": (("run", "python", "count.py", "-c", "1"), 2, "exclude"),
    "unknown language": (("run", "pyhton", "-c", "1"), 2, "python"),
    "missing file": (("run", "python", "nowhere.py"), 2, "nowhere.py"),
    "folder as file": (("run", "python", "docs"), 2, "folder"),
    "file of an unknown kind": (("run", "app.log"), 2, "run LANGUAGE app.log"),
    "a folder without a language": (("run", "docs"), 2, "is not a regular file"),
    "a pipe without a language": (("run", "pipe"), 2, "is not a regular file"),
    "insight at no port": (("doctor", "insight", "--port", "99999"), 2, "0 to 65535"),
    "insight served and written": (
        ("doctor", "insight", "--html", "x.html", "--port", "1"),
        2,
        "--html",
    ),
    "insight into a folder": (("doctor", "insight", "--html", "docs"), 2, "not a regular file"),
    "index of a pipe": (("index", "pipe"), 2, "not a regular file"),
    "index of no files": (("index", ".", "--max-files", "-1"), 2, "1 or more"),
    "index of no depth": (("index", ".", "--max-depth", "-1"), 2, "0 or more"),
    "repl of no profile": (("run", "-i", "shell", "--profile", "biuld"), 2, "repl shell: unknown"),
    "too little memory": (
        ("run", "shell", "--limit", "memory_bytes=9", "-c", "ls"),
        2,
        "4,194,304",
    ),
    "cwd outside": (("run", "shell", "--cwd", "..", "-c", "ls"), 2, "outside"),
    "unknown limit": (("run", "shell", "--limit", "memory=1", "-c", "ls"), 2, "memory_bytes"),
    "malformed limit": (("run", "shell", "--limit", "wall_s=-1", "-c", "ls"), 2, "positive"),
    "malformed timeout": (("run", "shell", "--timeout", "soon", "-c", "ls"), 2, "soon"),
    "negative timeout": (("run", "shell", "--timeout", "-1", "-c", "ls"), 2, "positive"),
    "infinite timeout": (("run", "shell", "--timeout", "inf", "-c", "ls"), 2, "finite"),
    "malformed variable": (("run", "shell", "--env", "=1", "-c", "ls"), 2, "NAME=VALUE"),
    "missing stdin file": (("run", "shell", "--stdin", "nowhere", "-c", "ls"), 2, "nowhere"),
    "missing project": (("run", "shell", "--project", "nowhere", "-c", "ls"), 2, "nowhere"),
    "batch missing": (("run", "--batch", "nowhere.json"), 2, "nowhere.json"),
    "batch not JSON": (("run", "--batch", "app.log"), 2, "JSON"),
    "index missing": (("index", "nowhere"), 2, "nowhere"),
    "index outside": (("index", "../outside.txt"), 2, "outside"),
    "index stdin without a label": (("index", "-"), 2, "--source"),
    "search for nothing": (("search", ""), 2, "empty"),
    "search with no limit": (("search", "x", "--limit", "0"), 2, "1 or more"),
}


@pytest.fixture
def odd_place(place):
    (place.project / "way-out").symlink_to("..")
    (place.project / "out.txt").symlink_to("../outside.txt")
    os.mkfifo(place.project / "pipe")
    return place


def converse(place, calls: list[dict]) -> list[dict]:
    """The answers to these tool calls, in one conversation, by id."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    }
    messages = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    for number, call in enumerate(calls, start=1):
        messages.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call})
    return exchange(place, [json.dumps(message).encode() for message in messages], len(calls) + 1)


def serving(place) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*place.command, "serve"],
        cwd=place.project,
        env=place.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def exchange(place, lines: list[bytes], answers: int) -> list[dict]:
    """Send raw lines, wait for that many answers, close stdin, and see the server end well."""
    server = serving(place)
    received = []
    for line in lines:
        server.stdin.write(line + b"\n")
    server.stdin.flush()
    while len(received) < answers:
        line = server.stdout.readline()
        assert line, server.stderr.read().decode()
        received.append(json.loads(line))
    out, err = server.communicate(timeout=60)
    assert (server.returncode, out) == (0, b""), err.decode()
    assert b"Traceback" not in err
    return received


def test_bad_tool_calls_are_answered_one_by_one_and_the_server_lives_on(odd_place):
    calls = {name: {"name": "ctx_execute", "arguments": a} for name, (a, _) in RUNS.items()}
    for name, (path, _) in FILES.items():
        arguments = {"path": path, "language": "shell", "code": "ls"}
        calls[f"bound {name}"] = {"name": "ctx_execute_file", "arguments": arguments}
    calls["good"] = {"name": "ctx_execute", "arguments": {"language": "shell", "code": "echo hi"}}
    answers = {answer["id"]: answer for answer in converse(odd_place, list(calls.values()))}
    said = {name: answers[number]["result"] for number, name in enumerate(calls, start=1)}
    assert said.pop("good")["content"][0]["text"].startswith("hi\n")
    expected = {name: word for name, (_, word) in RUNS.items()}
    expected |= {f"bound {name}": word for name, (_, word) in FILES.items()}
    for name, result in said.items():
        text = result["content"][0]["text"]
        assert result.get("isError") is True, (name, text)
        assert expected[name] in text, (name, text)
        assert "Traceback" not in text
        assert len(text) < 1000, name


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_a_bad_command_line_is_a_message_and_a_hint(odd_place, name):
    arguments, code, word = COMMAND_LINES[name]
    done = odd_place.run(*arguments)
    said = done.stderr.decode()
    assert (done.returncode, done.stdout) == (code, b""), said
    assert word in said
    assert "Traceback" not in said


def test_code_that_is_not_utf8_is_refused_at_its_byte(place):
    done = place.run("run", "python", "-", stdin=b"print('\xff')")
    assert done.returncode == 2
    assert b"byte 7 is 0xff" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="not applicable: root reads every file")
def test_an_unreadable_file_is_named(place):
    (place.project / "app.log").chmod(0)
    done = place.run("run", "shell", "--bind", "app.log", "-c", "ls")
    assert done.returncode == 2
    assert b"app.log" in done.stderr


def test_malformed_messages_are_answered_and_the_server_lives_on(place):
    malformed = [
        b"not json",
        b"\xff\xfe\x00",
        b"[]",
        b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":1,"method":5}',
        b"[" * 50_000,
        b"",
        b"x" * 1_000_000,
    ]
    known_but_wrong = [
        b'{"jsonrpc":"2.0","id":2,"method":"no/such/method"}',
        b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":5}}',
        b'{"jsonrpc":"2.0","id":4,"method":"tools/call"}',
    ]
    ping = b'{"jsonrpc":"2.0","id":5,"method":"ping"}'
    answered = len(malformed) - 1 + len(known_but_wrong) + 2  # an empty line is no message
    received = exchange(place, [HELLO.strip(), *malformed, *known_but_wrong, ping], answered)
    by_id = {answer["id"]: answer for answer in received if answer["id"] is not None}
    assert by_id[5]["result"] == {}
    assert all("error" in by_id[number] for number in (1, 2, 3, 4))
    assert sum(answer["id"] is None for answer in received) == len(malformed) - 2


def test_nothing_but_the_protocol_reaches_stdout(place):
    print_it = "import sys, os; print('noise'); os.write(1, b'noise')"
    call = {"name": "ctx_execute", "arguments": {"language": "python", "code": print_it}}
    received = converse(place, [call, {"name": "ctx_doctor", "arguments": {}}])
    assert [answer["jsonrpc"] for answer in received] == ["2.0"] * 3


HELLO = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"test","version":"0"}}}\n'
)
SLEEP = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ctx_execute",'
    b'"arguments":{"language":"shell","code":"echo begun > begun; sleep 1000"}}}\n'
)


@pytest.mark.parametrize("said", [b"", HELLO, HELLO + SLEEP, SLEEP])
def test_the_server_ends_when_stdin_does(place, said):
    done = place.run("serve", stdin=said)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("said", [HELLO, HELLO + SLEEP])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_server_in_good_order(place, said, number, code):
    server = serving(place)
    server.stdin.write(said)
    server.stdin.flush()
    assert server.stdout.readline()
    server.send_signal(number)
    _, err = server.communicate(timeout=60)
    assert (server.returncode, err) == (code, b"")
    assert list(place.data.glob("state/spool/*")) == []


@pytest.mark.parametrize(
    "words",
    [
        ("run", "shell", "-c", "echo hi"),
        (
            "pack",
            "map",
        ),
        ("pack",),
        ("run", "--batch", "-"),
        ("doctor",),
        ("index", "/"),
    ],
)
def test_no_verb_looks_through_the_whole_system(place, words):
    done = place.run(*words, "--project", "/", stdin=b'["echo hi"]')
    assert done.returncode not in (0, 70), done.stdout
    assert b"/ cannot be the project" in done.stdout + done.stderr
    assert b"--project DIR" in done.stdout + done.stderr
