"""Where packs go: hosts' files, files of one's own, a compressor; and what is left in them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ctxmode import cli
from ctxmode.operations import pack_output
from ctxmode.operations.pack_output import EXPORTERS
from kb.tokens import estimate
from repomap.reading import MARK, RULES_HEAD
from tests.repomap.repositories import APP, run_git, write_files

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
TASK = ("--task", "apply_discount of the cart", "--budget", "1200")


@pytest.fixture
def pack(place, capsys):
    """Run the verb in a project; what it prints on stdout and on stderr."""
    write_files(place, APP)

    def run(*words, code=0):
        assert cli.main(["pack", *TASK, *map(str, words)]) == code
        shown = capsys.readouterr()
        return shown.out, shown.err

    return run


@pytest.mark.parametrize("name", EXPORTERS)
def test_o10_a_host_finds_its_file_with_how_it_is_loaded(pack, place, name):
    out, err = pack("--export", name)
    path = place / ".context-mode" / EXPORTERS[name][0]
    text = path.read_text()
    assert out == ""
    assert text.startswith(f"{MARK}\n\n# Files for a task")
    assert "def apply_discount" in text
    assert EXPORTERS[name][1].format(path=f".context-mode/{path.name}") in text
    assert f"written: .context-mode/{path.name}" in err
    assert estimate(text, "claude-5") <= 1200


def test_exports_are_ignored_by_git_and_by_the_next_map(pack, place):
    (place / ".git").rmdir()
    run_git(place, "init", "-q")
    pack("--export", "claude")
    first = (place / ".context-mode" / "CLAUDE_CONTEXT.md").read_bytes()
    assert ".context-mode" not in run_git(place, "status", "--porcelain")
    pack("--export", "claude")
    assert (place / ".context-mode" / "CLAUDE_CONTEXT.md").read_bytes() == first


def test_a_rules_file_of_cursor_begins_with_its_frontmatter(pack, place):
    (place / ".cursor" / "rules").mkdir(parents=True)
    for _ in range(2):
        pack("--export", "cursor", "-o", ".cursor/rules/context.mdc")
    text = (place / ".cursor" / "rules" / "context.mdc").read_text()
    assert text.startswith(f"{RULES_HEAD}\n\n# Files")
    assert text.startswith("---\ndescription: ")


@pytest.mark.parametrize("words", [("--export", "claude"), (), ("--json",)])
@pytest.mark.parametrize("old", ["# Mine\n", "", f"# A\n{MARK}\n", '{"made_by": "me"}'])
def test_a_file_that_is_not_ours_is_never_replaced(pack, place, words, old):
    target = place / "notes.md"
    target.write_text(old)
    _, err = pack(*words, "-o", target, code=2)
    assert "was not written by context-mode" in err
    assert target.read_text() == old


@pytest.mark.parametrize("words", [("--export", "claude"), (), ("--json",)])
def test_a_file_of_ours_is_replaced(pack, place, words):
    for _ in range(2):
        pack(*words, "-o", "out.md")
    assert "apply_discount" in (place / "out.md").read_text()


def test_no_link_is_written_through(pack, place, tmp_path):
    outside = tmp_path / "outside.md"
    outside.write_text(f"{MARK}\n")
    (place / "out.md").symlink_to(outside)
    assert "cannot replace" in pack("-o", "out.md", code=2)[1]
    (place / ".context-mode").symlink_to(tmp_path)
    assert "is not a folder" in pack("--export", "aider", code=1)[1]
    assert outside.read_text() == f"{MARK}\n"
    assert not (tmp_path / "AIDER_CONTEXT.md").exists()


def test_a_timestamp_is_last_and_changes_nothing_before_it(pack):
    plain = pack()[0]
    stamped = pack("--timestamp")[0]
    body, _, last = stamped.rstrip("\n").rpartition("\n\n")
    assert last.startswith("Made 20")
    assert body == plain.rstrip("\n")
    assert "timestamp" not in json.loads(pack("--json")[0])
    assert list(json.loads(pack("--json", "--timestamp")[0]))[-1] == "timestamp"


def test_explain_has_each_file_with_what_speaks_for_it(pack):
    out, _ = pack("--explain")
    assert "src/app/cart.py  (body" in out
    found = json.loads(pack("--explain", "--json")[0])
    first = found["files"][0]
    assert (first["path"], first["rank"], first["kind"]) == ("src/app/cart.py", 1, "full")
    assert found["total"] >= len([one for one in found["files"] if one["rank"]])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--export", "claude", "--json"), "are Markdown"),
        (("--compress", "http", "--format", "json"), "are Markdown"),
        (("--explain", "--export", "claude"), "write no pack"),
        (("--fits", "a.py", "-o", "x"), "write no pack"),
        (("-o", "none/x.md"), "no folder"),
        (("--export", "emacs"), "emacs"),
        (("--compress", "zip"), "zip"),
        (("--allow-sensitive",), "needs a person at a terminal"),
    ],
)
def test_what_cannot_be_is_an_error_with_what_to_do(pack, words, said):
    out, err = pack(*words, code=2)
    assert out == ""
    assert said in err


@pytest.mark.parametrize(("answer", "has"), [("y", True), ("n", False), ("", False)])
def test_secrets_stay_only_where_a_person_at_the_terminal_agrees(pack, place, answer, has):
    pack()  # writes the project's files
    write_files(place, {"src/app/cart.py": f'cart_token = "{SECRET}"\n', ".env": f"CART={SECRET}x"})
    program = (
        "import os, pty, sys\n"
        "answer = sys.argv[1].encode() + b'\\n'\n"
        "pid, terminal = pty.fork()\n"
        "if pid == 0:\n"
        "    os.execv(sys.executable, [sys.executable, '-m', 'ctxmode', *sys.argv[2:]])\n"
        "seen = b''\n"
        "while b'[y/N]' not in seen:\n"
        "    seen += os.read(terminal, 4096)\n"
        "os.write(terminal, answer)\n"
        "try:\n"
        "    while part := os.read(terminal, 4096):\n"
        "        seen += part\n"
        "except OSError:\n"
        "    pass\n"
        "os.waitpid(pid, 0)\n"
        "sys.stdout.buffer.write(seen)\n"
    )
    words = ["pack", "--task", "cart", "--allow-sensitive", "--paths", "src"]
    shown = subprocess.run(
        [sys.executable, "-c", program, answer, *words],
        capture_output=True,
        check=True,
        timeout=120,
    ).stdout.decode()
    assert (SECRET in shown) is has
    assert f"{SECRET}x" not in shown
    assert ("nothing was packed" in shown) is not has
    assert SECRET not in "".join(pack("--paths", "src"))  # and in no later pack


@contextmanager
def proxy(answer) -> Iterator[list[dict]]:
    """A compressor on loopback that answers as `answer` makes of a request; the requests."""
    seen: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append({"path": self.path, "body": body, "headers": dict(self.headers)})
            status, data = answer(body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        seen.append({"url": f"http://127.0.0.1:{server.server_port}"})
        yield seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def replace_text(text):
    """Answer as Headroom does, with another text in the tool's message."""

    def answer(body):
        last = {**body["messages"][-1], "content": text(body["messages"][-1]["content"])}
        return 200, json.dumps({"messages": [*body["messages"][:-1], last]}).encode()

    return answer


def test_o9_a_pack_is_compressed_redacted_and_counted_again(pack, place, monkeypatch):
    with proxy(replace_text(lambda text: f"short {SECRET} of {len(text)}")) as seen:
        monkeypatch.setenv("HEADROOM_BASE_URL", seen[0]["url"])
        monkeypatch.setenv("HEADROOM_PROXY_TOKEN", "t")
        pack("--export", "claude", "--compress", "http")
    request = seen[1]
    assert request["path"] == "/v1/compress"
    assert request["headers"]["X-Headroom-Proxy-Token"] == "t"
    sent = request["body"]["messages"][-1]["content"]
    assert "def apply_discount" in sent
    assert MARK not in sent
    text = (place / ".context-mode" / "CLAUDE_CONTEXT.md").read_text()
    assert text.startswith(f"{MARK}\n\nshort ")
    assert SECRET not in text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (replace_text(lambda text: text * 9), "over the budget"),
        (replace_text(lambda text: ""), "no text"),
        (lambda body: (200, b"[]"), "no text"),
        (lambda body: (200, b"nonsense"), "did not return JSON"),
        (lambda body: (500, b"broken\n"), "answered 500: broken"),
        (lambda body: (302, b""), "answered 302"),
    ],
)
def test_what_a_compressor_gets_wrong_is_an_error_and_no_file_is_written(
    pack, place, monkeypatch, answer, said
):
    with proxy(answer) as seen:
        monkeypatch.setenv("HEADROOM_BASE_URL", seen[0]["url"])
        out, err = pack("-o", "out.md", "--compress", "http", code=1)
    assert said in err
    assert out == ""
    assert not (place / "out.md").exists()


def test_a_compressor_that_is_not_there_is_an_error(pack, monkeypatch):
    monkeypatch.setenv("HEADROOM_BASE_URL", "http://127.0.0.1:1")
    assert "Start it" in pack("--compress", "http", code=1)[1]


def test_a_compressor_that_trickles_is_given_up(pack, monkeypatch):
    monkeypatch.setattr(pack_output, "DEADLINE_S", 0.3)
    event = threading.Event()
    with proxy(lambda body: (event.wait(20), (200, b"{}"))[1]) as seen:
        monkeypatch.setenv("HEADROOM_BASE_URL", seen[0]["url"])
        assert "failed" in pack("--compress", "http", code=1)[1]
        event.set()


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org:8787",
        "http://10.0.0.1",
        "https://127.0.0.1",
        "http://127.0.0.1@example.org",
        "http://user@127.0.0.1",
        "http://localhost.example.org",
        "http://0.0.0.0",
        "file:///etc/passwd",
        "http://127.0.0.1:port",
        "127.0.0.1:8787",
        "http://[::1",
    ],
)
def test_a_pack_is_sent_to_no_other_machine(pack, monkeypatch, url):
    monkeypatch.setenv("HEADROOM_BASE_URL", url)
    assert "HEADROOM_BASE_URL" in pack("--compress", "http", code=2)[1]


def test_o8_what_a_rule_denies_is_in_no_pack(pack, place):
    assert "def apply_discount(" in pack()[0]
    rules = {"permissions": {"deny": ["Read(./src/app/cart.py)"]}}
    write_files(place, {".claude/settings.json": json.dumps(rules)})
    out, _ = pack()
    assert "## src/app/cart.py" not in out
    assert "apply_discount(" not in out
    shown, _ = pack("--fits", "src/app/cart.py")
    assert "a rule denies reading it" in shown
