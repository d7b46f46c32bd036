"""Capture: what Cursor's hooks tell is recorded behind their answer, as real processes do it."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from base.locks import take_place
from ctxmode.config.locations import Config
from ctxmode.hosts.cursor.transcript import encode_path
from ctxmode.hosts.hooks.capture import QUEUE_FILE
from memory.sessions.snapshot import HEAD

ID = "c0ffee00-0000-4000-8000-000000000001"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
WAIT_S = 20.0


class Place:
    """A home and a project, and a host that calls hooks as Cursor does."""

    def __init__(self, root: Path) -> None:
        self.home, self.project, self.data = (root / name for name in ("home", "project", "data"))
        self.home.mkdir()
        (self.project / ".git").mkdir(parents=True)
        self.store = Config(self.project, self.home, self.data).sessions_file
        self.log = self.data / "logs" / "bells.log"

    def start(self, event: str, **fields: Any) -> subprocess.Popen[bytes]:
        told = {"conversation_id": ID, "workspace_roots": [str(self.project)], **fields}
        environ = {**os.environ, "HOME": str(self.home), "CONTEXT_MODE_DIR": str(self.data)}
        environ.pop("CONTEXT_MODE_PROJECT_DIR", None)
        process = subprocess.Popen(
            [sys.executable, "-m", "ctxmode", "hook", "cursor", event],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environ, cwd=self.home,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(json.dumps(told).encode())
        process.stdin.close()
        return process

    def ring(self, event: str, **fields: Any) -> Any:
        """Call a hook, read until its streams are closed, and return its answer."""
        with self.start(event, **fields) as process:
            assert process.stdout is not None
            said = process.stdout.read()
        assert process.returncode == 0
        return json.loads(said)

    def prompt(self, text: str, key: str = "g1") -> Any:
        return self.ring("beforeSubmitPrompt", generation_id=key, prompt=text)

    def shell(self, command: str, key: str = "t1", exit_code: int = 0, said: str = "ok") -> Any:
        output = json.dumps({"exitCode": exit_code, "stdout": said})
        return self.ring(
            "postToolUse", tool_use_id=key, tool_name="Shell", tool_input={"command": command},
            tool_output=output,
        )  # fmt: skip

    def read(self, sql: str) -> list[tuple[Any, ...]]:
        if not self.store.exists():
            return []
        with closing(sqlite3.connect(self.store)) as db:
            try:
                return db.execute(sql).fetchall()
            except sqlite3.OperationalError:  # its tables are being made
                return []

    def until(self, sql: str, *rows: tuple[Any, ...]) -> None:
        """Wait until a query has these rows."""
        ends_at = time.monotonic() + WAIT_S
        while (found := self.read(sql)) != list(rows):
            assert time.monotonic() < ends_at, (found, self.log.exists() and self.log.read_text())
            time.sleep(0.02)

    def until_quiet(self) -> None:
        """Wait until no process is left that this host's hooks started."""
        ends_at = time.monotonic() + WAIT_S
        while any(_works_in(process, self.home) for process in Path("/proc").glob("[0-9]*")):
            assert time.monotonic() < ends_at
            time.sleep(0.02)


def _works_in(process: Path, folder: Path) -> bool:
    with contextlib.suppress(OSError):
        return os.readlink(process / "cwd") == str(folder)
    return False


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


EVENTS = "SELECT category, text, state FROM event ORDER BY id"


def test_prompts_calls_results_and_failures_are_events_in_order(place):
    assert place.prompt("Mend the login. Never touch the schema.") == {}
    assert place.shell("make test", exit_code=2, said="error: x failed") == {}
    place.ring(
        "postToolUseFailure", tool_use_id="t2", tool_name="StrReplace", failure_type="error",
        tool_input={"path": str(place.project / "a.py")}, error_message="not found: old",
    )  # fmt: skip
    place.until(
        EVENTS,
        ("prompt", "Mend the login. Never touch the schema.", ""),
        ("constraint", "Never touch the schema.", ""),
        ("command", "make test", "failed"),
        ("error", "error: x failed", "open"),
        ("file_edit", "a.py", "failed"),
        ("error", "not found: old", "open"),
    )
    place.shell("make test", key="t3")
    place.until("SELECT state FROM event WHERE text = 'error: x failed'", ("closed",))
    assert place.read("SELECT working_directory FROM session") == [(str(place.project),)]
    assert place.read("SELECT input_tokens, output_tokens FROM session") == [(None, None)]


def test_a_refused_call_is_denied_and_no_error(place):
    place.ring(
        "postToolUseFailure", tool_use_id="t1", tool_name="Shell",
        tool_input={"command": "make"}, failure_type="permission_denied", error_message="no",
    )  # fmt: skip
    place.until("SELECT category, state FROM event", ("command", "denied"), ("denied", ""))


def test_hooks_that_are_registered_twice_tell_it_once(place):
    for _ in range(2):
        place.prompt("Mend it")
        place.shell("make")
    place.until("SELECT COUNT(*) FROM message", (3,))
    place.prompt("Mend it", key="g2")
    place.until("SELECT COUNT(*) FROM message", (4,))


def test_the_answer_and_the_end_of_the_hook_do_not_wait_for_the_store(place):
    place.prompt("Mend it")
    place.until("SELECT COUNT(*) FROM message", (1,))
    with closing(sqlite3.connect(place.store, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")  # nothing can be written
        assert place.shell("make") == {}
        assert place.read("SELECT COUNT(*) FROM message") == [(1,)]
        db.execute("ROLLBACK")
    place.until("SELECT COUNT(*) FROM message", (3,))


def test_no_secret_and_nothing_private_is_stored(place):
    place.prompt(f"Use {SECRET}. <private>My name is Rumpelstilzchen.</private>")
    place.shell(f"curl -H 'Authorization: Bearer {SECRET}' x", exit_code=1, said=SECRET)
    place.until("SELECT COUNT(*) FROM message", (3,))
    kept = b"".join(path.read_bytes() for path in place.data.rglob("*") if path.is_file())
    assert b"Authorization" in kept  # it was stored
    for part in (SECRET, "Rumpelstilzchen"):
        assert part.encode() not in kept


def test_the_snapshot_is_back_with_the_next_result_or_prompt_once(place):
    place.prompt("Mend the login. Never touch the schema.")
    place.shell("make test-login")
    place.until("SELECT COUNT(*) FROM message", (3,))
    assert place.ring("preCompact", trigger="auto", context_tokens=900) == {}
    place.until_quiet()  # a machine with much to do takes longer than a hook may
    told = place.shell("ls", key="t2")["additional_context"]
    assert told.startswith(HEAD)
    assert "make test-login" in told
    assert place.shell("ls", key="t3") == {}
    place.until_quiet()
    place.ring("preCompact", trigger="manual", generation_id="g9")
    place.until_quiet()
    assert "make test-login" in place.prompt("Go on", key="g2")["additional_context"]
    place.until("SELECT compactions FROM session", (2,))


@pytest.mark.parametrize(
    "text", ["[transcripts]\nevents = false", "[transcripts.sources.cursor]\nenabled = false"]
)
def test_where_it_is_turned_off_nothing_is_recorded(place, text):
    file = place.project / ".ctxmode" / "config.toml"
    file.parent.mkdir()
    file.write_text(text)
    place.prompt("Not this")
    place.until_quiet()
    file.unlink()
    place.prompt("But this", key="g2")
    place.until("SELECT text FROM event", ("But this",))


def test_the_beginning_of_a_conversation_records_nothing(place):
    """It is registered with `--no-sessions`, too."""
    assert "additional_context" in place.ring("sessionStart")
    place.prompt("Mend it")
    place.until("SELECT COUNT(*) FROM message", (1,))
    assert place.read("SELECT COUNT(*) FROM session") == [(1,)]


def write_transcript(place: Place) -> Path:
    path = (
        place.home / ".cursor" / "projects" / encode_path(str(place.project))
        / "agent-transcripts" / ID / f"{ID}.jsonl"
    )  # fmt: skip
    path.parent.mkdir(parents=True)
    rows = [
        {"role": "user", "message": {"content": "Mend it"}},
        {"role": "assistant", "message": {"content": [
            {"type": "text", "text": "Done."},
            {"type": "tool_use", "name": "Shell", "input": {"command": "make"}}]}},
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("is_slow", [False, True], ids=["quick", "slow"])
def test_what_hooks_told_is_not_read_from_the_transcript_again(place, is_slow):
    """However long a prompt's child takes, what the host writes meanwhile is not of before it."""
    place.data.mkdir(parents=True, exist_ok=True)
    ahead = take_place(str(place.data / QUEUE_FILE))
    if not is_slow:
        os.close(ahead[0])
    place.prompt("Mend it")
    place.shell("make")
    write_transcript(place)
    if is_slow:
        os.close(ahead[0])
    place.ring("stop", status="completed")
    place.until("SELECT role FROM message ORDER BY sequence",
                ("user",), ("tool_call",), ("tool_result",), ("assistant",))  # fmt: skip
    assert [row[:2] for row in place.read(EVENTS)] == [("prompt", "Mend it"), ("command", "make")]


def test_what_a_transcript_has_of_before_the_first_prompt_is_read_with_that(place):
    """From there on what is said comes from the transcript alone."""
    path = write_transcript(place)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    place.prompt("And now this")
    place.until("SELECT role FROM message ORDER BY sequence",
                ("user",), ("assistant",), ("tool_call",))  # fmt: skip
    with path.open("a") as file:
        file.write(json.dumps({"role": "user", "message": {"content": "And now this"}}) + "\n")
    place.ring("stop", status="completed")
    place.until("SELECT role FROM message ORDER BY sequence",
                ("user",), ("assistant",), ("tool_call",), ("user",))  # fmt: skip


def test_the_end_is_noted(place):
    place.prompt("Mend it")
    place.until("SELECT COUNT(*) FROM message", (1,))
    place.ring("sessionEnd", reason="completed")
    place.until("SELECT end_reason FROM session", ("completed",))


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_name": 3, "tool_input": [], "tool_output": {}},
        {"tool_name": "Shell", "tool_input": "{", "tool_use_id": ["x"]},
        {"tool_name": "S\x00\ud800", "tool_input": {"command": 5}, "tool_output": "{}"},
        {"conversation_id": {"a": 1}, "session_id": "\ud800" * 500, "tool_name": "Shell"},
        {"workspace_roots": [3], "tool_name": "Shell", "tool_input": {"command": "x\ud800" * 9}},
    ],
)
def test_odd_events_get_an_answer_and_leave_no_traceback(place, fields):
    assert place.ring("postToolUse", **fields) == {}
    place.prompt("Mend it")
    place.until(f"SELECT COUNT(*) FROM event WHERE session_id = 'cursor:{ID}' AND text = 'Mend it'",
                (1,))  # fmt: skip
    assert not place.log.exists(), place.log.read_text()
