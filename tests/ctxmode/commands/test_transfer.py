"""`sessions import` and `sessions export`, from a file or a stream to what a person is shown."""

import io
import json
import os
import sqlite3
import stat
import zipfile
from contextlib import ExitStack, closing

import pytest

import kb
from ctxmode.operations import session_stream
from tests.ctxmode.hosts.transcripts.test_gemini_export import CHAT as GEMINI
from tests.ctxmode.hosts.transcripts.test_windsurf import STEPS
from tests.memory.sessions.claude_records import Maker, write
from tests.memory.sessions.importers.test_chatgpt import CHAT, conversation

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def place(place):
    """A project, and a home whose settings keep full texts; the project's folder."""
    settings = place.parent / "home" / ".config" / "ctxmode"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text("[transcripts]\nmessages = true\n")
    return place


@pytest.fixture
def pour(monkeypatch, tmp_path):
    """Make bytes standard input."""

    with ExitStack() as opened:

        def give(data):
            (tmp_path / "stdin").write_bytes(data)
            file = opened.enter_context((tmp_path / "stdin").open())
            monkeypatch.setattr("sys.stdin", file)

        yield give


def lines(place, *more):
    session = {"type": "session", "id": "one", "agent": "my_bot", "working_directory": str(place)}
    first = {"role": "user", "content": f"Mend the parser, not {SECRET}.", "id": "m1"}
    answer = {"role": "assistant", "content": "It is mended.", "output_tokens": 7}
    return "".join(f"{json.dumps(one)}\n" for one in (session, first, answer, *more))


def chats(place):
    path = place / "conversations.json"
    path.write_text(json.dumps([conversation(*CHAT), conversation(*CHAT, conversation_id="c-2")]))
    return path


def test_r13_lines_of_ones_own_agent_are_this_projects_session(place, ask):
    (place / "a.jsonl").write_text(lines(place).removesuffix("\n"))
    told = ask("import", "a.jsonl", "--json")
    assert (told["form"], told["sessions"], told["messages"]) == ("own_lines", 1, 2)
    assert (told["stores"][0]["store"], told["stores"][0]["ids"]) == ("project", ["my_bot:one"])
    assert ask("import", "a.jsonl", "--json")["messages"] == 0
    (session,) = ask("list", "--json")["sessions"]
    assert (session["agent"], session["messages"], session["output_tokens"]) == ("my_bot", 2, 7)


def test_r13_a_stream_is_stored_and_the_same_line_again_changes_nothing(place, ask, pour):
    pour(lines(place).encode())
    assert ask("import", "-", "--json")["messages"] == 2
    pour(lines(place).encode())
    assert ask("import", "-", "--json")["messages"] == 1  # the answer has no id
    pour(b'{"role": "user", "content": "alone"}')
    told = ask("import", "-", "--session", "s9", "--agent", "other", "--json")
    assert told["stores"][0]["ids"] == ["other:s9"]
    pour(b'{"role": "user", "content": "alone"}\nnonsense\n\n[]\n{"role": 1}\n')
    assert ask("import", "-", "--json")["bad_lines"] == 3


def test_a_line_that_is_too_long_is_dropped_and_the_next_is_read(place, ask, pour, monkeypatch):
    monkeypatch.setattr(session_stream, "LINE_BYTES_MAX", 100_000)
    long = json.dumps({"role": "user", "content": "x" * 300_000}) + "\n"
    pour((lines(place) + long + '{"role": "user", "content": "after"}\n').encode())
    told = ask("import", "-", "--session", "x", "--json")
    assert (told["messages"], told["bad_lines"]) == (3, 1)


@pytest.mark.parametrize("form", ["own", "chatgpt", "archive"])
def test_any_form_may_come_by_stdin(place, ask, pour, form):
    if form == "own":
        (place / "a.jsonl").write_text(lines(place))
        ask("import", "a.jsonl")
        folder = ask("export", "one", "--json")["folder"]
        data = (place / folder / "messages.json").read_bytes()
        ask("forget", "one", "--yes")
    elif form == "chatgpt":
        data = chats(place).read_bytes()
    else:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
            file.write(chats(place), "conversations.json")
        data = packed.getvalue()
    pour(data)
    if form == "own":  # what was forgotten is not imported again
        assert "forgotten" in ask("import", "-")
    else:
        told = ask("import", "-", "--json")
        assert (told["form"], told["sessions"]) == ("chatgpt", 2)
    assert list((place.parent / "data" / "state").glob("*.import")) == []


def test_r13_sessions_without_a_project_are_the_users_own_and_found_by_search(place, ask):
    told = ask("import", chats(place), "--json")
    (stored,) = told["stores"]
    assert (told["sessions"], stored["store"], stored["turns_left"]) == (2, "user", 0)
    assert ask("import", chats(place), "--json")["messages"] == 0
    assert {one["agent"] for one in ask("list", "--json")["sessions"]} == {"chatgpt"}
    folder = place.parent / "data" / "projects"
    with kb.Store.open(folder / "user.sqlite3") as index:
        assert {one.label for one in index.sources()} == {
            "session:chatgpt:c-1#1",
            "session:chatgpt:c-2#1",
        }
    assert not list(folder.glob("project-*.sessions.sqlite3"))


FORMS = {
    "gemini": (lambda: json.dumps(GEMINI), "gemini_export", "gemini:chat-"),
    "windsurf": (lambda: "\n".join(map(json.dumps, STEPS)), "windsurf", "windsurf:a"),
}


@pytest.mark.parametrize("name", FORMS)
def test_r13_other_forms_are_told_by_their_contents(place, ask, name):
    make, form, session_id = FORMS[name]
    (place / "a.json").write_text(make())
    told = ask("import", "a.json", "--json")
    assert told["form"] == form
    assert told["stores"][0]["ids"][0].startswith(session_id)
    assert "List the files" in ask("export", session_id, "--markdown") + _transcripts(place) or (
        name == "windsurf"
    )


def _transcripts(place):
    return "".join(one.read_text() for one in place.glob("sessions/*/transcript.md"))


def test_r13_a_transcript_from_another_machine_is_read_and_its_host_is_not_tracked(place, ask):
    maker = Maker()
    records = [maker.prompt("Hello there."), maker.answer("Hi.")]
    for one in records:
        one["cwd"] = str(place)
    write(place / "copy.jsonl", records)
    told = ask("import", "copy.jsonl", "--json")
    assert (told["form"], told["messages"]) == ("claude_code", 2)
    assert told["stores"][0]["store"] == "project"
    with closing(sqlite3.connect(told["stores"][0]["path"])) as db, db:
        assert db.execute("SELECT agent FROM source").fetchall() == [("file:claude_code",)]


def test_sessions_of_one_file_go_each_to_its_store(place, ask):
    other = {"type": "session", "id": "two", "working_directory": "/elsewhere"}
    (place / "a.jsonl").write_text(lines(place, other, {"role": "user", "content": "x"}))
    told = ask("import", "a.jsonl", "--json")
    assert {one["store"]: one["ids"] for one in told["stores"]} == {
        "project": ["my_bot:one"],
        "user": ["own:two"],
    }
    assert ask("export", "two", "--json")["messages"] == 1


def test_an_old_session_stays_that_was_imported_today(place, ask):
    old = {"role": "user", "content": "long ago", "at": "2020-01-01T00:00:00Z"}
    (place / "a.jsonl").write_text(lines(place).splitlines()[0] + "\n" + json.dumps(old))
    ask("import", "a.jsonl")
    assert len(ask("list", "--json")["sessions"]) == 1


def test_r16_export_writes_whole_files_for_their_owner_alone(place, ask):
    (place / "a.jsonl").write_text(lines(place))
    ask("import", "a.jsonl")
    told = ask("export", "one", "--to", "out", "--markdown", "--json")
    folder = place / "out" / "sessions" / "my_bot:one"
    assert told["folder"] == str(folder)
    assert told["files"] == ["messages.json", "summary.md", "transcript.md"]
    assert sorted(one.name for one in folder.iterdir()) == sorted(told["files"])
    for one in folder.iterdir():
        assert stat.S_IMODE(one.stat().st_mode) == 0o600
        assert SECRET not in one.read_text()
    assert "It is mended." in (folder / "transcript.md").read_text()
    ask("export", "one", "--to", "out")  # the same session again


def obstruct_link(place):
    (place / "sessions").symlink_to(place.parent)


def obstruct_other(place):
    folder = place / "sessions" / "my_bot:one"
    folder.mkdir(parents=True)
    (folder / "messages.json").write_text('{"format": "context-mode-session", "session": {}}')


def obstruct_summary(place):
    folder = place / "sessions" / "my_bot:one"
    folder.mkdir(parents=True)
    (folder / "summary.md").write_text("mine")


def obstruct_fifo(place):
    folder = place / "sessions" / "my_bot:one"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "messages.json")


def obstruct_file(place):
    (place / "sessions").write_text("")


@pytest.mark.parametrize(
    "obstruct",
    [obstruct_link, obstruct_other, obstruct_summary, obstruct_fifo, obstruct_file],
    ids=lambda one: one.__name__,
)
def test_export_writes_over_nothing_else_and_through_no_link(place, ask, obstruct):
    (place / "a.jsonl").write_text(lines(place))
    ask("import", "a.jsonl")
    obstruct(place)
    before = sorted(place.parent.rglob("*.md"))
    assert "--to" in ask("export", "one", code=2)
    assert sorted(place.parent.rglob("*.md")) == before


def test_with_messages_off_events_are_kept_and_texts_come_from_the_file(place, ask, monkeypatch):
    monkeypatch.setenv("CONTEXT_MODE_TRANSCRIPTS_MESSAGES", "0")
    (place / "a.jsonl").write_text(lines(place))
    assert "transcripts.messages is off" in ask("import", "a.jsonl")
    assert ask("export", "one", "--json")["truncated"] == 1  # where the secret was
    (place / "a.jsonl").unlink()
    assert ask("export", "one", "--json")["truncated"] == 2
    ask("import", chats(place))
    assert ask("export", "c-2", "--json")["truncated"] == 0
    made = json.loads((place / "sessions" / "chatgpt:c-2" / "messages.json").read_text())
    assert made["messages"][0]["content"] == "How many?"


def test_nothing_is_imported_where_recording_is_off_and_it_is_said_by_whom(place, ask, monkeypatch):
    monkeypatch.setenv("CONTEXT_MODE_TRANSCRIPTS_EVENTS", "0")
    (place / "a.jsonl").write_text(lines(place))
    assert "CONTEXT_MODE_TRANSCRIPTS_EVENTS" in ask("import", "a.jsonl", code=2)
    assert not (place.parent / "data").exists()


BAD = {
    "empty": b"",
    "text": b"hello",
    "array": b"[1, 2]",
    "object": b'{"a": 1}',
    "nested": b"[" * 100_000,
    "bytes": bytes(range(256)),
    "torn export": b'{"format": "context-mode-session", "version": 1, "session": {"id": "x"',
    "another version": b'{"format": "context-mode-session", "version": 9, "session": {}}',
    "no id": b'{"format": "context-mode-session", "version": 1, "session": {}}',
    "archive": b"PK\x03\x04",
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("way", ["file", "stdin"])
def test_what_is_no_session_is_refused_with_what_is_known(place, ask, pour, name, way):
    (place / "x").write_bytes(BAD[name])
    pour(BAD[name])
    assert "Supported: " in ask("import", "x" if way == "file" else "-", code=2)


@pytest.mark.parametrize("name", ["gone", ".", "fifo"])
def test_what_is_no_file_is_refused(place, ask, name):
    os.mkfifo(place / "fifo")
    ask("import", name, code=2)
    ask("import", "fifo", "--agent", "no such!", code=2)


def test_of_a_torn_export_what_came_is_kept_and_it_is_said(place, ask):
    whole = chats(place).read_text()
    (place / "conversations.json").write_text(whole[:-50])
    told = ask("import", "conversations.json", "--json", code=1)
    assert (told["sessions"], bool(told["problem"])) == (1, True)
