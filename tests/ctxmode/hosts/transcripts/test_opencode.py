"""What OpenCode's database has of a project is read, whatever else is in it, and however."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxmode.hosts.opencode import rows as opencode_rows
from ctxmode.hosts.opencode.transcript import IMPORTER
from memory.sessions import importing
from memory.sessions.importers.importer import Ground, Transcript
from memory.sessions.reading import find_session, read_messages, read_sources
from memory.sessions.sources import count_unread, needs_reading
from tests.ctxmode.hosts.transcripts.opencode_database import (
    START_MS,
    Host,
    bring_in,
    tokens,
    tool,
)
from tests.memory.sessions.claude_records import all_bytes, dump, open_store, problems_of, rows

OF_PROJECT = {"belongs": lambda folder: folder.startswith("/p"), "keep_messages": True}


@pytest.fixture
def host(tmp_path):
    (tmp_path / "data").mkdir()
    made = Host(tmp_path / "data" / "opencode.db")
    yield made
    made.db.close()


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "s.sqlite3", **OF_PROJECT) as opened:
        yield opened


def long_session(host, name="one", turns=6, folder="/p"):
    session = host.session(name, folder)
    for turn in range(turns):
        host.prompt(session, f"Always keep file {turn} small.")
        host.answer(
            session,
            {"type": "reasoning", "text": "Hm.", "time": {"end": host.moment}},
            "I look.",
            tool("read", {"filePath": f"/p/{turn}.py"}, call=f"r{turn}"),
            tool(
                "bash", {"command": f"make {turn}"}, "no", f"b{turn}", metadata={"exit": turn % 2}
            ),
            tokens=tokens(100, turn + 1, 50, 3, 2),
        )
    return session


def texts(store, session="ses_one"):
    with store.database.reading() as db:
        found = read_messages(db, f"opencode:{session}")
        return [(one.role, one.content) for one in found if one.content]


def session_of(store, session="ses_one"):
    with store.database.reading() as db:
        return find_session(db, f"opencode:{session}")


def test_a_session_is_read_with_its_calls_and_tokens(host, store):
    session = host.session("one")
    host.prompt(session, "Make it.")
    host.answer(
        session,
        "I make it.",
        tool("bash", {"command": "make"}, "no rule", "c1", metadata={"exit": 2}),
        tool("read", {"filePath": "/p/x"}, "", "c2", status="error", error="File not found: /p/x"),
        tokens=tokens(100, 20, 30, 4, 5),
    )
    host.answer(session, "Done.", tokens=tokens(10, 2, 3))
    done = bring_in(store, host)
    assert (done.problem, done.behind, done.session_id) == ("", 0, "opencode:ses_one")
    found = session_of(store)
    assert (found.title, found.working_directory) == ("Title of one", "/p")
    assert (found.agent_version, found.messages, found.tool_calls) == ("1.18.33", 3, 2)
    assert (found.input_tokens, found.output_tokens) == (110, 27)  # with what was thought
    assert (found.cache_read_tokens, found.cache_write_tokens) == (33, 4)
    assert (found.reasoning_tokens, found.started_at) == (5, (START_MS + 60_000) / 1000)
    with store.database.reading() as db:
        told = [
            (one.role, one.tool_name, one.exit_code, one.is_error)
            for one in read_messages(db, "opencode:ses_one")
        ]
    assert told == [
        ("user", None, None, False),
        ("assistant", None, None, False),
        ("tool_call", "bash", None, False),
        ("tool_call", "read", None, False),
        ("tool_result", "bash", 2, True),
        ("tool_result", "read", None, True),
        ("assistant", None, None, False),
    ]
    assert problems_of(store) == []


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (tokens(100, 20, 30, 4, 5), (100, 25, 30, 4, 5)),  # reasoning beside the output
        ({**tokens(100, 20, 30, 4, 5), "total": 154}, (100, 20, 30, 4, 5)),  # within it
        ({"input": 100, "output": 20, "reasoning": 5}, (100, 20, None, None, 5)),
        (tokens(0, 0), None),  # not told, or not at its end
        ({"input": -1, "output": "5", "cache": [1]}, None),
        ("none", None),
    ],
)
def test_tokens_are_those_of_the_response_and_what_was_not_told_is_none(
    told, expected, host, store
):
    session = host.session("one")
    host.answer(session, "Done.", tokens=told)
    bring_in(store, host)
    found = rows(store, "SELECT input, output, cache_read, cache_write, reasoning FROM usage")
    assert found == ([expected] if expected else [])
    if expected is None:
        assert session_of(store).input_tokens is None


def test_a_message_without_steps_has_its_own_tokens(host, store):
    host.answer(host.session("one"), "Done.")
    host.message("ses_one", {"role": "assistant", "tokens": tokens(7, 8), "finish": "stop"})
    host.touch("ses_one")
    bring_in(store, host)
    assert rows(store, "SELECT input, output FROM usage") == [(7, 8)]


def test_what_a_host_puts_into_a_mouth_is_no_prompt(host, store):
    session = host.session("one")
    host.prompt(session, "Look at this.")
    host.prompt(session, "Called the Read tool.", synthetic=True)
    host.prompt(session, "For the screen.", ignored=True)
    asked = host.message(session, {"role": "user"})
    host.part(session, asked, {"type": "file", "mime": "image/png", "url": "data:"})
    child = host.session("child", parent=session)
    host.prompt(child, "Find the bug.")
    bring_in(store, host)
    assert texts(store) == [
        ("user", "Look at this."),
        ("system", "Called the Read tool."),
        ("system", "For the screen."),
    ]
    assert session_of(store).turns == 2  # a picture alone is a prompt, too
    found = session_of(store, "ses_child")
    assert (found.relation, found.parent_id) == ("subagent", "opencode:ses_one")
    assert texts(store, "ses_child") == [("user", "Find the bug.")]
    events = rows(store, "SELECT text FROM event WHERE category = 'prompt'")
    assert events == [("Look at this.",)]


@pytest.mark.parametrize(
    ("error", "is_denied"),
    [
        ("The user rejected permission to use this specific tool call.", True),
        ("The user has specified a rule which prevents you from using this specific", True),
        ("Tool execution aborted", False),
    ],
)
def test_a_refusal_is_no_failure(error, is_denied, host, store):
    session = host.session("one")
    refused = tool("bash", {"command": "rm x"}, status="error", error=error)
    host.answer(session, refused)
    bring_in(store, host)
    found = rows(store, "SELECT category FROM event WHERE category IN ('denied', 'error')")
    assert found == [("denied" if is_denied else "error",)]


@pytest.mark.parametrize(
    ("name", "metadata", "action"),
    [
        ("write", {"filepath": "/p/a.txt", "exists": False}, "created"),
        ("write", {"filepath": "/p/a.txt", "exists": True}, "modified"),
        ("edit", {"filediff": {"file": "/p/a.txt"}}, "modified"),
        ("apply_patch", {"files": [{"filePath": "/p/a.txt", "type": "add"}]}, "created"),
        ("apply_patch", {"files": [{"filePath": "/p/a.txt", "type": "delete"}]}, "deleted"),
    ],
)
def test_changed_files_are_those_that_the_host_saw(name, metadata, action, host, store):
    session = host.session("one")
    host.answer(session, tool(name, {"filePath": "/p/a.txt"}, metadata=metadata))
    bring_in(store, host)
    assert "a.txt" in str(session_of(store).files[action])


@pytest.mark.parametrize("is_seen_running", [False, True])
def test_a_changed_file_is_noted_the_same_whenever_its_call_was_read(is_seen_running, host, store):
    session = host.session("one")
    id_ = host.message(session, {"role": "assistant"})
    call = tool(
        "write", {"filePath": "/p/a.txt"}, metadata={"filepath": "/p/a.txt", "exists": True}
    )
    running = {**call, "state": {"status": "running", "input": call["state"]["input"]}}
    ran = host.part(session, id_, running if is_seen_running else call)
    bring_in(store, host)
    host.update("part", ran, call)
    host.touch(session)
    bring_in(store, host)
    assert rows(store, "SELECT path, action, count FROM file_touch") == [("a.txt", "modified", 1)]


def test_a_compaction_has_its_summary_and_trigger(host, store):
    session = long_session(host, turns=2)
    asked = host.message(session, {"role": "user"})
    host.part(session, asked, {"type": "compaction", "auto": True})
    host.answer(session, "Half of a", summary=True, parentID=asked, finish=None)
    bring_in(store, host)
    assert session_of(store).compactions == 0  # it is not at its end
    host.answer(session, "What was done.", summary=True, parentID=asked)
    assert bring_in(store, host).summary == "What was done."
    found = rows(store, "SELECT compaction_trigger FROM message WHERE is_compaction")
    assert (found, session_of(store).compactions) == ([("auto",)], 1)
    bring_in(store, host)
    assert session_of(store).compactions == 1
    assert store.was_compacted("opencode:ses_one")


def test_sessions_of_other_projects_are_passed_over_and_leave_nothing(host, store, tmp_path):
    for n in range(3):
        long_session(host, f"other{n}", 2, f"/elsewhere/secret-folder{n}")
    long_session(host)
    long_session(host, "last", 1, "/elsewhere/secret-folder9")
    done = bring_in(store, host)
    assert (done.elsewhere, done.problem) == (False, "")
    assert rows(store, "SELECT id FROM session") == [("opencode:ses_one",)]
    assert b"secret-folder" not in all_bytes(store)
    long_session(host, "more", 1)
    long_session(host, "other4", 1, "/elsewhere/secret-folder4")
    assert needs_reading(store.database, host.found)
    bring_in(store, host)
    assert rows(store, "SELECT id FROM session ORDER BY id") == [
        ("opencode:ses_more",),
        ("opencode:ses_one",),
    ]
    assert b"secret-folder" not in all_bytes(store)
    with open_store(tmp_path / "all.sqlite3") as everything:
        bring_in(everything, host)
        assert rows(everything, "SELECT COUNT(*) FROM session") == [(7,)]


def test_subagents_of_subagents_are_of_the_project_wherever_they_work(host, store):
    long_session(host, turns=1)
    for name, parent in (("child", "one"), ("grandchild", "child"), ("last", "grandchild")):
        host.prompt(host.session(name, f"/elsewhere/{name}", parent=f"ses_{parent}"), name)
    bring_in(store, host)
    assert rows(store, "SELECT COUNT(*) FROM session") == [(4,)]


def test_what_came_since_is_read_from_the_log_alone(host, store):
    session = long_session(host)
    bring_in(store, host)
    database = host.path.read_bytes()
    assert not needs_reading(store.database, host.found)
    assert count_unread(store.database, host.found) == 0
    host.prompt(session, "One more.")
    assert host.path.read_bytes() == database  # nothing is checkpointed
    assert needs_reading(store.database, host.found)
    assert count_unread(store.database, host.found) > 0
    assert bring_in(store, host).messages == 1
    assert texts(store)[-1] == ("user", "One more.")
    assert not needs_reading(store.database, host.found)
    # The log is begun anew, as large as before.
    host.db.execute("PRAGMA wal_checkpoint(RESTART)")
    host.answer(session, "Yes.")
    assert needs_reading(store.database, host.found)
    bring_in(store, host)
    assert texts(store)[-1] == ("assistant", "Yes.")


def test_only_what_changed_is_read_again(host, store, monkeypatch):
    session = long_session(host, turns=20)
    bring_in(store, host)
    read = []
    saved = opencode_rows.Rows.read_parts
    monkeypatch.setattr(
        opencode_rows.Rows, "read_parts", lambda self, id_: read.append(id_) or saved(self, id_)
    )
    prompt = host.prompt(session, "One more.")
    bring_in(store, host)
    assert prompt in read
    assert len(read) <= 2


def test_rows_are_found_even_where_their_session_was_not_touched(host, store):
    session = long_session(host)
    other = long_session(host, "two", 1)
    bring_in(store, host)
    id_ = host.message(session, {"role": "assistant"})
    host.part(session, id_, {"type": "text", "text": "Untouched."})
    last = rows_of_host(host, "SELECT id FROM message WHERE session_id = ?", other)[-1][0]
    host.part(other, last, {"type": "text", "text": "A part more."})
    bring_in(store, host)
    assert ("assistant", "Untouched.") in texts(store)
    assert ("assistant", "A part more.") in texts(store, "ses_two")


def rows_of_host(host, sql, *values):
    return host.db.execute(sql, values).fetchall()


def test_a_message_that_grows_in_place_is_brought_up_to_date(host, store):
    session = host.session("one")
    host.prompt(session, "Go.")
    id_ = host.message(session, {"role": "assistant", "tokens": tokens(0, 0)})
    said = host.part(session, id_, {"type": "text", "text": "Half"})
    call = tool("bash", {"command": "make"}, "made", "c1")
    pending = {**call, "state": {"status": "pending", "input": {}, "raw": ""}}
    ran = host.part(session, id_, pending)
    bring_in(store, host)
    assert texts(store) == [("user", "Go."), ("assistant", "Half")]
    host.update("part", ran, {**call, "state": {"status": "running", "input": {"command": "make"}}})
    host.touch(session)
    bring_in(store, host)
    assert (session_of(store).tool_calls, texts(store)[-1][0]) == (1, "assistant")
    host.update("part", said, {"type": "text", "text": "Half and half"})
    host.update("part", ran, call)
    host.part(session, id_, {"type": "step-finish", "tokens": tokens(9, 8)})
    host.update("message", id_, {"role": "assistant", "tokens": tokens(9, 8), "finish": "stop"})
    bring_in(store, host)
    assert texts(store)[1:] == [("assistant", "Half and half"), ("tool_result", "made")]
    found = session_of(store)
    assert (found.tool_calls, found.messages, found.output_tokens) == (1, 2, 8)


@pytest.mark.parametrize("is_seen_between", [True, False])
def test_going_back_cuts_what_the_host_deletes_and_a_step_forward_brings_nothing_twice(
    is_seen_between, host, store
):
    session = host.session("one")
    host.prompt(session, "First.")
    host.answer(session, "One.")
    back = host.prompt(session, "Second.")
    host.answer(session, "Two.")
    bring_in(store, host)
    host.touch(session, revert=json.dumps({"messageID": back}))
    if is_seen_between:
        bring_in(store, host)
        assert len(texts(store)) == 4  # it may be taken back
        host.touch(session, revert=None)
        bring_in(store, host)
        assert len(texts(store)) == 4
    host.db.execute("DELETE FROM message WHERE id >= ?", (back,))
    host.touch(session, revert=None)
    host.prompt(session, "Third.")
    bring_in(store, host)
    assert texts(store) == [("user", "First."), ("assistant", "One."), ("user", "Third.")]
    assert problems_of(store) == []


def test_one_message_that_is_deleted_alone_cuts_nothing(host, store):
    session = host.session("one")
    first = host.prompt(session, "First.")
    host.prompt(session, "Second.")
    bring_in(store, host)
    host.db.execute("DELETE FROM message WHERE id = ?", (first,))
    host.touch(session)
    bring_in(store, host)
    assert texts(store) == [("user", "First."), ("user", "Second.")]


@pytest.mark.parametrize("batch_s", [0.0, 0.002])
def test_r9_stopped_at_any_deadline_and_gone_on_with_the_rows_are_the_same(
    batch_s, host, tmp_path, monkeypatch
):
    for n in range(4):
        long_session(host, f"s{n}", 3, f"/{'pe'[n % 2]}")
    with open_store(tmp_path / "whole.sqlite3", **OF_PROJECT) as store:
        bring_in(store, host)
        whole = dump(store)
    monkeypatch.setattr(importing, "BATCH_S", batch_s)
    for _ in range(2000):
        with open_store(tmp_path / "parts.sqlite3", **OF_PROJECT) as store:
            done = bring_in(store, host, deadline=0.0)  # one transaction; the process is gone
            assert problems_of(store) == []
            if not done.behind:
                break
            assert needs_reading(store.database, host.found)
    with open_store(tmp_path / "parts.sqlite3", **OF_PROJECT) as store:
        assert dump(store) == whole
        assert not needs_reading(store.database, host.found)


def test_killed_in_a_transaction_and_begun_anew_the_rows_are_the_same(host, tmp_path, monkeypatch):
    long_session(host)
    with open_store(tmp_path / "whole.sqlite3", **OF_PROJECT) as store:
        bring_in(store, host)
        whole = dump(store)
    monkeypatch.setattr(importing, "BATCH_S", 0.0)
    saved, calls = importing._Reading._save, []

    def fails_at_times(self, *given):
        calls.append(given)
        if len(calls) % 2:
            raise KeyboardInterrupt
        return saved(self, *given)

    monkeypatch.setattr(importing._Reading, "_save", fails_at_times)
    with open_store(tmp_path / "parts.sqlite3", **OF_PROJECT) as store:
        for _ in range(2000):
            try:
                if not bring_in(store, host, deadline=0.0).behind:
                    break
            except KeyboardInterrupt:
                continue
        assert dump(store) == whole


def test_a_session_that_is_asked_for_is_read_first_and_the_others_later(host, store):
    long_session(host)
    long_session(host, "two", 1)
    done = bring_in(store, host, only="ses_two")
    assert (done.behind, done.problem) == (0, "")
    assert rows(store, "SELECT id FROM session") == [("opencode:ses_two",)]
    assert needs_reading(store.database, host.found)
    bring_in(store, host)
    assert rows(store, "SELECT COUNT(*) FROM session") == [(2,)]
    assert not needs_reading(store.database, host.found)
    assert bring_in(store, host, only="ses_none").problem == ""


def test_texts_that_are_not_kept_are_read_of_that_session_alone(host, tmp_path, monkeypatch):
    long_session(host)
    long_session(host, "two", 2)
    with open_store(tmp_path / "s.sqlite3") as store:
        bring_in(store, host)
        session = session_of(store)
        assert texts(store) == []
        read = []
        saved = opencode_rows.Rows.read_session
        monkeypatch.setattr(
            opencode_rows.Rows,
            "read_session",
            lambda self, one, mark: read.append(one.id) or saved(self, one, mark),
        )
        messages = store.read_full_messages(lambda _: IMPORTER, session)
    assert read == ["ses_one"]
    said = [one.content for one in messages if one.role == "assistant" and one.content]
    assert said == ["I look."] * 6
    assert not any(one.is_cut for one in messages)


def test_the_database_is_not_written_and_no_file_stays_beside_it(host, store):
    session = long_session(host)
    host.db.close()  # the last one takes the log with it
    before = {one.name: one.read_bytes() for one in host.path.parent.iterdir()}
    assert list(before) == ["opencode.db"]
    bring_in(store, host)
    assert {one.name: one.read_bytes() for one in host.path.parent.iterdir()} == before
    assert texts(store)[0][0] == "user"
    # While it is read, its host begins again.
    again = sqlite3.connect(host.path, isolation_level=None)
    database = opencode_rows.HostDatabase(str(host.path))
    again.execute("DELETE FROM message WHERE session_id = ?", (session,))
    assert database.rows("SELECT COUNT(*) FROM message") == [(0,)]
    database.close()
    again.close()


def test_the_host_writes_and_checkpoints_while_it_is_read(host, store, monkeypatch):
    session = long_session(host)
    monkeypatch.setattr(importing, "BATCH_S", 0.0)
    host.db.execute("PRAGMA busy_timeout = 0")  # whatever waits fails
    wants = lambda record: True  # noqa: E731
    for _ in IMPORTER.read_sessions(str(host.path), {}, wants):
        host.touch(session)
        assert host.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


def empty(path):
    path.write_bytes(b"")


def no_database(path):
    path.write_bytes(b"{}" * 5000)


def torn(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def garbled(path):
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(bytes(data))


def foreign(path):
    path.unlink()
    sqlite3.connect(path).execute("CREATE TABLE session (id, name)").connection.close()


def endless(path):
    path.unlink()
    db = sqlite3.connect(path)
    db.executescript(
        "CREATE TABLE message (id); CREATE TABLE part (id);"
        "CREATE VIEW session AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id FROM n)"
        " SELECT id, id parent_id, id directory, id title, id version, id time_created,"
        " id time_updated FROM n"
    )
    db.close()


def link(path):
    path.rename(path.with_name("else.db"))
    path.symlink_to(path.with_name("else.db"))


def fifo_beside(path):
    os.mkfifo(f"{path}-wal")


@pytest.mark.parametrize(
    "spoil", [empty, no_database, torn, garbled, foreign, endless, link, fifo_beside]
)
def test_a_spoilt_database_is_a_problem_and_nothing_else(spoil, host, store):
    long_session(host, turns=40)
    host.db.close()
    spoil(host.path)
    began = time.monotonic()
    done = bring_in(store, host)
    assert done.problem
    assert time.monotonic() - began < 10
    assert problems_of(store) == []
    with store.database.reading() as db:
        assert spoil is link or [one.problem for one in read_sources(db)] == [done.problem]


def test_behind_damage_the_other_sessions_are_read(host, store):
    long_session(host, "broken", 10)
    long_session(host)
    host.db.close()
    db = sqlite3.connect(host.path, isolation_level=None)
    (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'part'").fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    data = bytearray(host.path.read_bytes())
    # The first leaf of the parts' tree: its cells are of the first session.
    first = int.from_bytes(data[(page - 1) * size + 12 : (page - 1) * size + 14])
    at = (page - 1) * size + first
    leaf = int.from_bytes(data[at : at + 4])
    data[(leaf - 1) * size] = 0
    host.path.write_bytes(data)
    done = bring_in(store, host)
    assert "DatabaseError" in done.problem
    assert session_of(store).messages == 12


def test_a_locked_database_is_read_once_it_is_free(host, store):
    long_session(host)
    host.db.execute("PRAGMA journal_mode = DELETE")
    host.db.execute("BEGIN EXCLUSIVE")
    done = bring_in(store, host)
    assert "locked" in done.problem
    host.db.execute("COMMIT")
    assert needs_reading(store.database, host.found)
    assert bring_in(store, host).problem == ""
    assert session_of(store).messages == 12


def test_another_database_in_its_place_is_read_from_its_beginning(host, store, tmp_path):
    host.moment += 10**9
    long_session(host)
    bring_in(store, host)
    host.db.close()
    other = Host(tmp_path / "other.db")
    long_session(other, "older", 1)
    other.db.close()
    shutil.copyfile(other.path, host.path)  # the inode stays
    bring_in(store, host)
    assert session_of(store, "ses_older").messages == 2


def test_what_is_kept_of_a_reading_is_bounded(host, store):
    for n in range(120):
        long_session(host, f"s{n}", 1)
    for n in range(60):
        host.prompt("ses_s119", f"Prompt {n}.")
    bring_in(store, host)
    (state,) = rows(store, "SELECT state FROM source")[0]
    assert len(state) < 20_000
    assert rows(store, "SELECT COUNT(*) FROM session") == [(120,)]


DEEP = "[" * 100_000 + "]" * 100_000
HOSTILE = [
    b"\xff\xfe\x00", "", "null", "[]", '"x"', DEEP, '{"type": "text", "text": "\\ud800"}',
    '{"type": 5}', '{"type": "tool", "state": [], "tool": {}}',
    '{"type": "tool", "state": {"status": "completed", "output": 5, "input": "x"}}',
    f'{{"type": "tool", "tool": "bash", "state": {{"status": "running", "input": {DEEP}}}}}',
    '{"type": "patch", "files": "x"}', '{"type": "step-finish", "tokens": {"input": 1e999}}',
    json.dumps({"type": "text", "text": "\u202e\0" * 50}),
]  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE)
def test_hostile_rows_are_passed_over_and_the_next_are_read(data, host, store):
    session = host.session("one")
    asked = host.prompt(session, "Before.")
    host.part(session, asked, data)
    answered = host.answer(session, "Between.")
    host.part(session, answered, data)
    host.message(session, data)
    host.prompt(session, "After.")
    assert bring_in(store, host).problem == ""
    found = [text for _, text in texts(store)]
    assert any("Before." in one for one in found)
    assert {"Between.", "After."} <= set(found)
    assert problems_of(store) == []


def test_a_value_that_is_too_large_is_passed_over(host, store, monkeypatch):
    session = host.session("one")
    monkeypatch.setattr(opencode_rows, "_DATA", opencode_rows._DATA.replace(str(64 << 20), "2000"))
    asked = host.prompt(session, "Before.")
    host.part(session, asked, {"type": "text", "text": "x" * 5000})
    bring_in(store, host)
    assert texts(store) == [("user", "Before.")]


ODD = st.one_of(st.none(), st.integers(-(2**62), 2**62), st.floats(), st.text(max_size=5),
                st.binary(max_size=5))  # fmt: skip
COLUMNS = [
    (table, column) for table in opencode_rows.TABLES for column in opencode_rows.TABLES[table]
]


@settings(
    derandomize=True, deadline=None, max_examples=80,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data())
def test_columns_of_any_type_stop_nothing(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    host = Host(folder / "opencode.db")
    with closing(host.db):
        long_session(host, "odd", 1)
        long_session(host)
        for _ in range(3):
            table, column = data.draw(st.sampled_from(COLUMNS))
            other = "'ses_odd'"
            of = f"{'id' if table == 'session' else 'session_id'} = {other}"
            try:
                host.db.execute(f"UPDATE {table} SET {column} = ? WHERE {of}", (data.draw(ODD),))
            except sqlite3.Error:
                continue
        with open_store(folder / "s.sqlite3", **OF_PROJECT) as store:
            for _ in range(2):
                assert bring_in(store, host).problem == ""
            assert session_of(store).messages == 12
            host.prompt("ses_one", "One more.")
            bring_in(store, host)
            assert session_of(store).messages == 13


def test_secrets_are_redacted_and_private_parts_dropped(host, store):
    session = host.session("one")
    secret = "ghp_" + "R7kQ2mZx9LpV4tWc8YbN" + "3sDf6HgJ1aKe5uTo"  # made up
    host.prompt(session, f"Use {secret} <private>my name</private> here.")
    host.answer(session, tool("bash", {"command": f"curl -H {secret}"}, f"got {secret}"))
    bring_in(store, host)
    kept = all_bytes(store)
    assert b"here." in kept  # texts are kept
    assert secret.encode() not in kept
    assert b"my name" not in kept


def test_the_databases_are_found(tmp_path):
    folder = tmp_path / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    for name in ("opencode-dev.db", "opencode.db", "opencode.db-wal", "other.db"):
        (folder / name).write_bytes(b"")
    (folder / "opencode-x.db").symlink_to(folder / "other.db")

    def find(**environ):
        return [os.path.basename(one.path) for one in IMPORTER.find(Ground(str(tmp_path), environ))]

    assert find() == ["opencode.db", "opencode-dev.db"]
    assert find(OPENCODE_DB="other.db") == ["other.db"]
    assert find(OPENCODE_DB=":memory:") == []
    assert find(XDG_DATA_HOME=str(tmp_path / "none")) == []
    assert next(IMPORTER.find(Ground(str(tmp_path), {}))) == Transcript(
        str(folder / "opencode.db"), log=str(folder / "opencode.db-wal")
    )
