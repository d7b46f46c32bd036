"""No secret and nothing forgotten is in any file of the record of sessions, nor in what its verbs
print (the gate and forgetting, as a user's own commands meet them)."""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from contextlib import closing
from datetime import UTC, datetime

import pytest

from tests.memory.sessions.claude_records import Maker
from tests.memory.sessions.test_secrets import FIELDS, TEXTS

SESSION = "0b8f7c9e-1111-4222-8333-444455556666"
MARK = "Zyzzogeton"


def write(place, records):
    """Write a transcript of the last minutes where the host would."""
    (place.project / ".git").mkdir(exist_ok=True)
    folder = "".join(c if c.isalnum() and c.isascii() else "-" for c in str(place.project))
    path = place.home / ".claude" / "projects" / folder / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for number, record in enumerate(records):
            at = datetime.fromtimestamp(time.time() - 600 + number / 1000, UTC).isoformat()
            told = {**record, "cwd": str(place.project), "timestamp": at}
            file.write(json.dumps(told) + "\n")
        file.write('{"no JSON": "' + MARK + "\n")
    return path


def keep_messages(place):
    settings = place.home / ".config" / "ctxmode" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[transcripts]\nmessages = true\n")


def record_all(place, path):
    """Do all that keeps something: read, ring bells, index, summarise, export; return the texts."""
    told = {"session_id": SESSION, "transcript_path": str(path)}
    shown = []
    for event, more in (
        ("PreCompact", {"trigger": "auto"}),
        ("SessionStart", {"source": "compact"}),
        ("SessionStart", {"source": "startup"}),
        ("SessionEnd", {"reason": "exit"}),
    ):
        event_text = json.dumps({**told, **more}).encode()
        shown.append(place.run("hook", "claude-code", event, stdin=event_text).stdout)
    for words in (
        ["track"], ["list", "--json"], ["show", SESSION], ["show", SESSION, "--json"], ["snapshot"],
        ["show", SESSION, "--tools"], ["show", SESSION, "--errors"], ["show", SESSION, "--turns"],
        ["resume", SESSION, "--from", "1", "--budget", "65536"], ["digest", SESSION], ["status"],
        ["queue"], ["status", "--json"], ["check"],
    ):  # fmt: skip
        done = place.run("sessions", *words)
        assert done.returncode == 0, done.stderr
        shown.append(done.stdout + done.stderr)
    shown.append(place.run("search", f"{MARK} hello", "--kind", "session").stdout)
    return b"\n".join(shown)


def stored_bytes(place):
    """All bytes of all files, with what is deflated in tables inflated."""
    parts = []
    for path in sorted(place.data.rglob("*")):
        if not path.is_file():
            continue
        parts.append(path.read_bytes())
        if path.suffix == ".sqlite3":
            parts += values_of(path)
    return b"\n".join(parts)


def values_of(path):
    with closing(sqlite3.connect(path)) as db:
        names = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            try:
                rows = db.execute(f"SELECT * FROM {name}").fetchall()
            except sqlite3.Error:  # a table of another module's
                continue
            for value in (value for row in rows for value in row):
                if isinstance(value, bytes):
                    try:
                        yield zlib.decompress(value)
                    except zlib.error:
                        yield value
                elif isinstance(value, str):
                    yield value.encode()


def telling():
    make = Maker(SESSION)
    side = {"isSidechain": True, "agentId": "a1"}
    return [
        make.prompt(f"Always say {MARK}.", gitBranch=MARK),
        make.record("ai-title", aiTitle=f"About {MARK}"),
        make.answer(f"I say {MARK}", usage={"output_tokens": 3}),
        *make.run(1, f"echo {MARK}", f"error: {MARK}", failed=True),
        make.call("Write", 2, {"file_path": f"/p/{MARK}.py", "content": MARK}),
        make.result(2, toolUseResult={"task": {"id": "1", "subject": f"Do {MARK}"}}),
        *make.compaction(f"They said {MARK}"),
        make.prompt(f"Look at {MARK}", **side),
    ]


FORGETTING = {
    "forget": ["sessions", "forget", SESSION, "--yes"],
    "purge of everything": ["kept", "rm", "--all", "--yes"],
}


@pytest.mark.parametrize("how", FORGETTING)
def test_what_is_forgotten_leaves_no_byte_in_any_file(how, place):
    keep_messages(place)
    path = write(place, telling())
    shown = record_all(place, path)
    assert shown.count(MARK.encode()) > 20
    before = stored_bytes(place)
    assert before.count(MARK.encode()) > 20  # the positive control
    done = place.run(*FORGETTING[how])
    assert done.returncode == 0, done.stderr
    assert MARK.encode() not in stored_bytes(place)
    record_all_again = place.run("sessions", "track")
    assert record_all_again.returncode == 0
    assert json.loads(place.run("sessions", "list", "--json").stdout)["sessions"] == []
    assert MARK.encode() not in stored_bytes(place)


@pytest.mark.parametrize("kept", ["events", "messages"])
def test_no_secret_of_any_kind_is_in_a_file_or_in_what_is_printed(kept, place):
    if kept == "messages":
        keep_messages(place)
    records = []
    for number, (_, text) in enumerate(TEXTS):
        make = Maker(SESSION, f"u{number}-")
        for name, field in FIELDS.items():
            if name not in ("session's id", "folder"):
                records += field(make, text)
    path = write(place, [Maker(SESSION, "first-").prompt(f"hello {MARK}"), *records])
    shown = record_all(place, path)
    assert MARK.encode() in shown  # the positive control: it was read, and is told
    everything = shown + stored_bytes(place)
    assert not {secret for secret, _ in TEXTS if secret.encode() in everything}
