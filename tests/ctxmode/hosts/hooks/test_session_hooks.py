"""Bells: what hooks do for the record of sessions (R2, R4, R5); they are never in the way."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ctxmode.config.locations import Config
from ctxmode.hosts.hooks import hook_event, session_hooks
from ctxmode.hosts.hooks.hook_event import LOG_FILE, Event
from ctxmode.hosts.hooks.session_hooks import answer_hook
from ctxmode.hosts.registry import list_agents, list_clients
from ctxmode.hosts.setup.hosts import BY_NAME
from ctxmode.hosts.setup.plan import plan, write
from ctxmode.hosts.setup.target import Target
from memory.errors import MemoryRoomError
from memory.sessions.snapshot import HEAD, SNAPSHOT_BYTES_MAX
from tests.ctxmode.hosts.transcripts.opencode_database import Host, tool

SESSION = "0b8f7c9e-1111-4222-8333-444455556666"
RULE = "The API must stay compatible with version 2."
SUMMARY = "This session is being continued. Summary: nothing of note."


class Place:
    """A home with a project, and one session of Claude Code in it."""

    def __init__(self, root: Path) -> None:
        self.home, self.project = root / "home", root / "project"
        for folder in (self.home, self.project / ".git"):
            folder.mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.data = root / "data"
        self.transcript = self.home / ".claude" / "projects" / "x" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self._lines = 0
        self.store = Config(self.project, self.home, self.data).sessions_file

    def add(self, kind: str, **fields: Any) -> None:
        """Write one record, as Claude Code does."""
        self._lines += 1
        record = {
            "type": kind,
            "uuid": f"u{self._lines}",
            "sessionId": SESSION,
            "cwd": str(self.project),
            "timestamp": f"2026-01-01T00:00:{self._lines % 60:02}.000Z",
            **fields,
        }
        with self.transcript.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def say(self, text: str) -> None:
        self.add("user", message={"role": "user", "content": text})

    def call(self, tool: str, result: str = "ok", **given: Any) -> None:
        number = f"toolu_{self._lines}"
        use = {"type": "tool_use", "id": number, "name": tool, "input": given}
        usage = {"input_tokens": 5, "output_tokens": 7}
        message = {"id": f"msg_{number}", "role": "assistant", "content": [use], "usage": usage}
        self.add("assistant", message=message)
        done = {"type": "tool_result", "tool_use_id": number, "content": result}
        self.add("user", message={"role": "user", "content": [done]})

    def compact(self) -> None:
        self.add("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
        message = {"role": "user", "content": SUMMARY}
        self.add("user", isCompactSummary=True, parentUuid=f"u{self._lines}", message=message)

    def ring(self, purpose: Any, *, host: str = "claude-code", **event: Any) -> str:
        told: Mapping[str, Any] = {
            "session_id": SESSION,
            "transcript_path": str(self.transcript),
            **event,
        }
        environ = {"HOME": str(self.home)}
        names = (str(one) for one in (self.project, self.home, self.data))
        return answer_hook(Event(host, purpose, told, *names, environ))

    def count(self, sql: str) -> Any:
        with closing(sqlite3.connect(self.store)) as db:
            return db.execute(sql).fetchone()[0]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.say(f"Mend the login. {RULE}")
    place.call("Read", file_path=str(place.project / "src/login.py"))
    place.call(
        "Edit", file_path=str(place.project / "src/login.py"), old_string="a", new_string="b"
    )
    place.call("Bash", command="make test-login")
    return place


def test_r5_the_snapshot_is_back_after_a_compaction_once(place):
    assert place.ring("compact", trigger="auto") == ""
    place.compact()
    text = place.ring("open", source="compact")
    assert text.startswith(HEAD)
    assert len(text.encode()) <= SNAPSHOT_BYTES_MAX
    for part in (RULE, "src/login.py*", "make test-login", "Mend the login."):
        assert part in text
    assert place.ring("open", source="compact") == ""


def test_what_the_host_wrote_after_the_bell_is_in_the_snapshot(place):
    place.ring("compact")
    place.call("Bash", command="make late")
    assert "make late" in place.ring("open", source="compact")


def test_each_compaction_has_its_snapshot(place):
    for number in range(3):
        place.call("Bash", command=f"make part-{number}")
        place.ring("compact")
        assert f"make part-{number}" in place.ring("open", source="compact")


def test_what_the_hosts_summary_has_is_left_out(place):
    place.ring("compact")
    place.add("system", subtype="compact_boundary", compactMetadata={})
    place.add(
        "user",
        isCompactSummary=True,
        parentUuid="u10",
        message={"role": "user", "content": "We ran `make test-login` and it passed."},
    )
    text = place.ring("open", source="compact")
    assert "src/login.py" in text
    assert "make test-login" not in text


def test_nothing_is_said_or_made_where_nothing_was_recorded(place):
    assert place.ring("open", source="startup") == ""
    assert place.ring("prompt") == ""
    assert not place.store.exists()


def test_the_end_of_a_session_is_noted(place):
    place.ring("end", reason="exit")
    assert place.count("SELECT end_reason FROM session") == "exit"
    assert place.count("SELECT ended_at >= last_at FROM session")


def test_open_tasks_of_the_branch_are_told_at_the_next_start(place):
    todo = {"content": "Write the page", "status": "pending", "activeForm": "Writing"}
    place.call("TodoWrite", todos=[todo])
    place.ring("end")
    with closing(sqlite3.connect(place.store)) as db:
        db.execute("UPDATE session SET last_at = unixepoch(), git_branch = 'main'")
        db.commit()
    said = place.ring("open", source="startup")
    assert "1 open task" in said
    assert "Write the page" in said


def test_a_resumed_session_is_told_which_of_its_files_changed(place):
    place.ring("end")
    (place.project / "src").mkdir()
    (place.project / "src" / "login.py").write_text("changed")
    said = place.ring("open", source="resume")
    assert said.endswith("src/login.py")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("project/.ctxmode/config.toml", "[transcripts]\nevents = false\n"),
        ("home/.config/ctxmode/config.toml", "[transcripts]\nevents = false\n"),
    ],
)
def test_events_that_are_off_are_not_recorded(file, text, place):
    path = place.home.parent / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert place.ring("compact") == ""
    assert not place.store.exists()


def test_a_projects_file_cannot_turn_messages_on(place):
    path = place.project / ".ctxmode" / "config.toml"
    path.parent.mkdir()
    path.write_text("[transcripts]\nmessages = true\n")
    place.ring("compact")
    assert place.count("SELECT COUNT(*) FROM message") > 0
    assert place.count("SELECT COUNT(*) FROM message WHERE content IS NOT NULL") == 0


def test_messages_are_kept_by_the_users_own_file(place):
    path = place.home / ".config" / "ctxmode" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("[transcripts]\nmessages = true\n")
    place.ring("compact")
    assert place.count("SELECT COUNT(*) FROM message WHERE content IS NOT NULL") > 0


def test_a_session_of_another_project_is_left_alone(place):
    other = place.project.parent / "other"
    (other / ".git").mkdir(parents=True)
    place.transcript.write_text(place.transcript.read_text().replace("/project", "/other"))
    assert place.ring("compact") == ""
    assert place.count("SELECT COUNT(*) FROM session") == 0


@pytest.fixture
def locked(place: Place) -> Iterator[Place]:
    place.ring("compact")
    with closing(sqlite3.connect(place.store, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield place
        db.execute("ROLLBACK")


def test_a_locked_store_is_silent_and_logged(locked, monkeypatch):
    monkeypatch.setattr(session_hooks, "STORE_WAIT_S", 0.01)
    locked.call("Bash", command="make more")
    assert locked.ring("compact") == ""
    assert locked.ring("open", source="compact") == ""
    assert "locked" in (locked.data / "logs" / LOG_FILE).read_text()


@pytest.mark.parametrize("harm", ["damaged", "a folder", "transcript gone", "a pipe"])
def test_whatever_fails_is_silent(harm, place):
    place.ring("compact")
    if harm == "damaged":
        place.store.write_bytes(b"no database" * 100)
    elif harm == "a folder":
        place.store.unlink()
        place.store.mkdir()
    elif harm == "transcript gone":
        place.transcript.unlink()
    else:
        place.transcript.unlink()
        import os

        os.mkfifo(place.transcript)
    for purpose in ("compact", "open", "end"):
        assert HEAD not in place.ring(purpose) or harm == "transcript gone"


def test_the_log_of_failures_stays_within_its_size(place, monkeypatch):
    place.ring("compact")
    monkeypatch.setattr(hook_event, "LOG_BYTES_MAX", 20_000)

    def fail(*_: object) -> str:
        raise MemoryRoomError("日本" * 1000)

    monkeypatch.setattr(session_hooks, "_answer_sessions", fail)
    for _ in range(100):
        assert place.ring("compact") == ""
    sizes = [one.stat().st_size for one in (place.data / "logs").iterdir()]
    assert len(sizes) == 2
    assert 10_000 < sum(sizes) <= 20_000


def test_a_failures_text_that_may_be_a_transcripts_is_not_logged(place, monkeypatch):
    def fail(*_: object) -> str:
        raise ValueError("invalid literal: 'secretword'")

    monkeypatch.setattr(session_hooks, "_answer_sessions", fail)
    place.ring("compact")
    log = (place.data / "logs" / LOG_FILE).read_text()
    assert "ValueError" in log
    assert "secretword" not in log


def test_a_session_far_behind_still_has_its_snapshot(place, monkeypatch):
    monkeypatch.setattr(session_hooks, "FAR_BEHIND_BYTES", 1000)
    for number in range(20):
        place.call("Bash", command=f"make far-{number}")
    monkeypatch.setattr(session_hooks, "BEGINNING_S", 0.0)
    monkeypatch.setattr(
        session_hooks, "SNAPSHOT_S", 1000.0
    )  # no time is left for more than the beginning
    monkeypatch.setitem(session_hooks.DEADLINES_S, "compact", 100.0)
    monkeypatch.setitem(session_hooks.DEADLINES_S, "open", 100.0)
    place.ring("compact")
    assert place.count("SELECT COUNT(*) FROM message") < 10
    assert "make far-19" in place.ring("open", source="compact")


def test_setup_without_sessions_registers_no_bell_and_takes_out_what_was(tmp_path):
    def events(*, records_sessions: bool) -> set[str]:
        target = Target(
            "user", tmp_path, tmp_path, ("context-mode",), records_sessions=records_sessions
        )
        write(plan(BY_NAME["claude-code"], target))
        return set(json.loads((tmp_path / ".claude" / "settings.json").read_text())["hooks"])

    assert events(records_sessions=True) > {"PreCompact", "SessionEnd"}
    left = events(records_sessions=False)
    assert {"PreToolUse", "SessionStart"} <= left
    assert not {"PreCompact", "SessionEnd"} & left


def test_every_agent_that_rings_has_an_importer():
    assert {agent for agent, _, _ in list_clients()} <= set(list_agents())


def test_a_database_is_read_of_the_session_that_rings_alone(place, tmp_path):
    folder = place.home / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    host = Host(folder / "opencode.db")
    for name in ("other", "one"):
        session = host.session(name, str(place.project))
        host.prompt(session, f"Mend the login. {RULE}")
        host.answer(session, tool("bash", {"command": f"make {name}"}))
    rung = {"host": "opencode", "session_id": "ses_one", "transcript_path": ""}
    assert place.ring("compact", **rung) == ""
    assert place.count("SELECT COUNT(*) FROM session") == 1
    asked = host.message(session, {"role": "user"})
    host.part(session, asked, {"type": "compaction", "auto": True})
    host.answer(session, "What was done.", summary=True, parentID=asked)
    text = place.ring("prompt", **rung)
    assert text.startswith(HEAD)
    assert RULE in text
    assert "make one" in text
    assert "Git:" not in text  # this host records no branch
    assert place.ring("prompt", **rung) == ""
    host.db.close()
