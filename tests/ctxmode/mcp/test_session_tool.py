"""`ctx_session`: which session is meant, and what is answered of it (R5, R7, R11, R14)."""

from __future__ import annotations

import json
import os
import time

import pytest

from ctxmode.config.files import PROJECT_FILE
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.hosts.claude_code.transcript import IMPORTER
from ctxmode.mcp.tools import load
from ctxmode.operations.library import open_library
from ctxmode.operations.sessions import find_ground, open_sessions
from memory.sessions.digesting import DIGEST_BYTES_MAX, RESUME_BYTES
from memory.sessions.session_news import tell_waiting
from memory.sessions.snapshot import HEAD, SNAPSHOT_BYTES_MAX
from tests.ctxmode.mcp.session_desk import DAY_S, HOUR_S, Desk, Transcript
from tests.memory.facts.damages import overwrite_head

TOOL = load("ctx_session")

SUMMARY = "The parser reads two of three forms."
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def desk(config, monkeypatch):
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "CONTEXT_MODE_TRANSCRIPTS_EVENTS"):
        monkeypatch.delenv(name, raising=False)
    with open_library(config) as library:
        yield Desk(library)


def ids(reply):
    return [one["id"] for one in reply.data["sessions"]]


async def test_an_answer_says_that_the_store_was_damaged(desk):
    for number in range(2):
        desk.keep(f"kept{number}")
        with open_sessions(desk.config) as store:
            store.copy_daily(again=True)
        overwrite_head(desk.config.sessions_file)
        with pytest.raises(UsageError, match="was damaged, and its copy of"):
            await desk.ask(id="nothing")
        told = await desk.ask(id=f"kept{number}")
        assert told.text.startswith(HEAD)
        assert told.text.count("was damaged, and its copy of") >= 1


# Which session is meant


async def test_r5_without_an_id_the_latest_of_the_clients_host_is_meant(desk):
    desk.keep("old", ago_s=2 * DAY_S, ask="Write the manual.")
    latest = desk.keep("new", ago_s=3 * HOUR_S, ask="Mend the parser.")
    desk.keep("other", agent="codex", ago_s=1, ask="Draw a picture.")
    reply = await desk.ask()
    assert ids(reply) == [latest]
    assert reply.text.startswith(HEAD)
    assert "Mend the parser." in reply.text
    assert "Draw a picture." not in reply.text


@pytest.mark.parametrize(
    ("client", "agent"),
    [
        ("claude-code", "claude_code"),
        ("codex-mcp-client", "codex"),
        ("gemini-cli-mcp-client", "gemini"),
        ("qwen-cli-mcp-client-context-mode", "qwen_code"),
        ("copilot-cli", "copilot_cli"),
        ("claude-ai", "claude_ai"),
        ("Some Editor 2", "some_editor_2"),
        ("", "mcp"),
    ],
)
async def test_each_host_is_known_by_the_name_of_its_client(desk, client, agent):
    for one in ("claude_code", "codex", "gemini", "qwen_code", "copilot_cli", "claude_ai"):
        desk.keep("s", agent=one)
    for one in ("some_editor_2", "mcp"):
        desk.keep("s", agent=one)
    assert ids(await desk.ask(client)) == [f"{agent}:s"]


@pytest.mark.parametrize("about", ["snapshot", "resume", "digest"])
async def test_of_two_active_ones_both_are_listed_and_none_is_guessed(desk, about):
    first = desk.keep("one", ago_s=600, ask="Mend the parser.")
    second = desk.keep("two", ago_s=60, ask="Write the manual.")
    desk.keep("silent", ago_s=HOUR_S)
    reply = await desk.ask(about=about)
    assert ids(reply) == [second, first]
    assert "Mend the parser." in reply.text
    assert "Write the manual." in reply.text
    assert "10 min ago" in reply.text
    assert f'ctx_session {{"id": "{second}", "about": "{about}"}}' in reply.text
    assert HEAD not in reply.text
    assert ids(await desk.ask(about=about, id="one")) == [first]


async def test_a_summary_of_one_of_two_active_ones_is_not_kept_by_guess(desk):
    desk.keep("one")
    desk.keep("two")
    await desk.ask(about="summarize", text="All is done.")
    with open_sessions(desk.config) as store, store.database.reading() as db:
        assert db.execute("SELECT COUNT(*) FROM session WHERE summary <> ''").fetchone() == (0,)


@pytest.mark.parametrize(
    ("relation", "parent"), [("subagent", "one"), ("subagent", "elsewhere")], ids=str
)
async def test_what_a_subagent_does_is_no_session_of_its_own_here(desk, relation, parent):
    main = desk.keep("one", ago_s=60)
    desk.keep("child", ago_s=1, relation=relation, parent_id=parent)
    assert ids(await desk.ask()) == [main]


async def test_a_session_that_was_continued_as_another_is_not_meant(desk):
    desk.keep("one", ago_s=60)
    again = desk.keep("two", ago_s=1, relation="continued", parent_id="one")
    assert ids(await desk.ask()) == [again]


async def test_an_ended_session_beside_an_active_one_is_not_meant(desk):
    desk.keep("ended", ago_s=5, ended=True)
    active = desk.keep("active", ago_s=1)
    assert ids(await desk.ask()) == [active]


async def test_an_ambiguous_or_unknown_id_is_an_error_that_names_candidates(desk):
    both = {desk.keep("5e1f-one"), desk.keep("5e1f-two")}
    for wanted in ("5e1f", "nothing", "a\0b", "%", "\u202ex"):
        with pytest.raises(UsageError) as caught:
            await desk.ask(id=wanted)
        assert all(one in str(caught.value) for one in both)


async def test_a_host_of_which_nothing_is_kept_is_told_what_is_and_what_begins_it(desk):
    with pytest.raises(UsageError, match="no session is stored yet") as none:
        await desk.ask()
    assert "sessions track" in none.value.hint
    kept = desk.keep("one", agent="codex")
    with pytest.raises(UsageError, match="no session of claude_code is stored") as other:
        await desk.ask()
    assert kept in other.value.hint


# R7: hosts that only call this server


async def test_r7_calls_of_a_client_without_a_transcript_are_its_session(desk):
    desk.keep("one")
    run = {"language": "shell", "code": "make test"}
    desk.calls.add("Some Editor", "", "ctx_execute", run, "exit 2: test_parser failed")
    reply = await desk.ask("Some Editor")
    (session,) = ids(reply)
    assert session.startswith("some_editor:")
    assert "make test" in reply.text
    assert ids(await desk.ask("Some Editor", about="resume")) == [session]


async def test_r7_asking_for_a_session_is_no_part_of_one(desk):
    desk.calls.add("Some Editor", "", "ctx_execute", {"language": "shell", "code": "ls"}, "")
    desk.calls.add("Some Editor", "", "ctx_session", {"about": "queue"}, "")
    desk.calls.add("claude-code", "", "ctx_execute", {"language": "shell", "code": "ls"}, "")
    assert [one.tool for one in desk.calls.waiting] == ["ctx_execute"]


async def test_one_token_holder_does_not_see_what_another_had_recorded(desk):
    shared = desk.keep("of-the-project")
    for holder in ("ada", "bob"):
        code = {"language": "shell", "code": f"echo {holder}"}
        desk.calls.add("zed", f"id-of-{holder}", "ctx_execute", code, "", holder)
    of_ada, of_bob = (await desk.ask("zed", "ada"), await desk.ask("zed", "bob"))
    assert "echo ada" in of_ada.text
    assert "echo bob" not in of_ada.text
    with pytest.raises(UsageError) as caught:
        await desk.ask("zed", "ada", id=ids(of_bob)[0])
    assert ids(of_bob)[0] not in caught.value.hint
    assert ids(await desk.ask("zed", "ada", id="of-the-project")) == [shared]
    assert len(ids(await desk.ask("zed"))) == 2  # the user's own client sees all


# What is new is read before the answer


async def test_what_is_new_in_the_transcript_is_read_before_the_answer(desk):
    transcript = Transcript(desk.config.home, desk.config.project, "5e1f0000")
    transcript.say("Mend the parser.")
    with open_sessions(desk.config, create=True) as store:
        store.import_all([IMPORTER], find_ground(desk.config))
    transcript.say("Write the manual, too.")
    assert "Write the manual, too." in (await desk.ask()).text


async def test_a_host_of_which_nothing_is_kept_yet_is_not_read(desk):
    desk.keep("one", agent="codex")
    Transcript(desk.config.home, desk.config.project, "5e1f0000").say("Mend the parser.")
    with pytest.raises(UsageError, match="no session of claude_code"):
        await desk.ask()


# What is answered


async def test_a_snapshot_is_at_most_2048_bytes_also_of_a_long_session(desk):
    desk.keep("one", ask="Mend the parser. Never touch the lexer. " + "ü" * 9000, messages=200)
    text = (await desk.ask(about="snapshot")).text
    assert len(text.encode()) <= SNAPSHOT_BYTES_MAX
    assert "Never touch the lexer." in text


async def test_r11_resume_has_the_last_summary_and_the_messages_since(desk):
    desk.keep("one", compacted=SUMMARY)
    text = (await desk.ask(about="resume")).text
    assert SUMMARY in text
    assert "Mend the parser." not in text.split("Summary:")[1]
    assert len(text.encode()) <= RESUME_BYTES


async def test_r14_the_queue_leads_to_a_digest_and_a_digest_to_a_summary(desk):
    desk.keep("active", ask="Write the manual.")
    older = desk.keep("older", ago_s=3 * DAY_S, ask="Draw a picture.")
    newer = desk.keep("newer", ago_s=2 * DAY_S)
    reply = await desk.ask(about="queue")
    assert ids(reply) == [newer, older]
    for one in (newer, older):
        assert f'ctx_session {{"id": "{one}", "about": "digest"}}' in reply.text
    call = json.loads(reply.text.rpartition("Next: ctx_session ")[2])
    digest = await desk.ask(**call)
    assert "Mend the parser." in digest.text
    assert (await desk.ask(id=newer, about="queue")).text == digest.text
    keep = json.loads(
        digest.text.rpartition("Store its summary: ctx_session ")[2].split(", as ")[0]
    )
    done = await desk.ask(**keep | {"text": "The parser is mended."})
    assert done.data["sessions"][0]["id"] == newer
    assert ids(await desk.ask(about="queue")) == [older]
    with open_sessions(desk.config) as store, store.database.reading() as db:
        row = db.execute("SELECT summary, status FROM session WHERE id = ?", (newer,)).fetchone()
    assert row == ("The parser is mended.", "archived")


@pytest.mark.parametrize("as_text", [True, False])
async def test_r14_a_summary_may_be_an_object_with_its_fields(desk, as_text):
    desk.keep("one", ago_s=2 * DAY_S)
    given = {"summary": f"Done with {SECRET}.", "decisions": ["Two forms."]}
    text = json.dumps(given) if as_text else given
    await desk.ask(id="one", about="summarize", text=text)
    with open_sessions(desk.config) as store, store.database.reading() as db:
        summary, metadata = db.execute("SELECT summary, metadata FROM session").fetchone()
    assert SECRET not in summary
    assert json.loads(metadata)["findings"]["decisions"] == ["Two forms."]


@pytest.mark.parametrize(
    "given",
    [
        {"about": "summarize"},
        {"about": "summarize", "text": "  "},
        {"about": "summarize", "text": '{"summary": 1}'},
        {"about": "summarize", "text": '{"summary": "a", "contacts": "b"}'},
        {"about": "summarize", "text": "x" * (1 << 21)},
        {"about": "snapshot", "text": "All is done."},
        {"text": "All is done."},
    ],
    ids=lambda given: str(given)[:60],
)
async def test_a_summary_of_another_form_is_refused_and_nothing_is_kept(desk, given):
    desk.keep("one")
    with pytest.raises(UsageError):
        await desk.ask(**given)
    with open_sessions(desk.config) as store, store.database.reading() as db:
        assert db.execute("SELECT summary FROM session").fetchone() == ("",)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"summary": "\\ud800 a"}', "a\0b\x1b[2J\ud800", "\u202ex"]
)
async def test_a_hostile_summary_is_kept_without_harm(desk, text):
    desk.keep("one")
    await desk.ask(about="summarize", text=text)
    with open_sessions(desk.config) as store, store.database.reading() as db:
        (kept,) = db.execute("SELECT summary FROM session").fetchone()
    assert kept
    assert not set(kept) & set("\0\x1b\ud800\u202e")


@pytest.mark.parametrize(
    "given",
    [
        {"about": "all"},
        {"id": "x" * 301},
        {"id": "\ud800"},
        {"text": [1]},
        {"sequence": 1},
    ],
)
def test_arguments_of_another_form_are_refused(desk, given):
    with pytest.raises(UsageError):
        TOOL.arguments.validate(given)


async def test_a_digest_is_at_most_32_kib(desk):
    desk.keep("one", ago_s=2 * DAY_S, ask="Mend it. " + "wide ü " * 3000, messages=150)
    text = (await desk.ask(id="one", about="digest")).text
    assert len(text.encode()) <= DIGEST_BYTES_MAX
    assert "Store its summary: ctx_session" in text


async def test_an_empty_queue_is_an_answer(desk):
    assert (await desk.ask(about="queue")).text == "No session awaits a summary."
    desk.keep("active")
    assert (await desk.ask(about="queue")).text == "No session awaits a summary."


@pytest.mark.parametrize("status", ["", "paused", "completed", "archived", "active"])
async def test_the_hint_at_a_sessions_start_counts_what_the_queue_lists(desk, status):
    desk.keep("one", ago_s=2 * DAY_S)
    desk.keep("two", ago_s=60)
    with open_sessions(desk.config) as store:
        with store.database.writing() as db:
            db.execute("UPDATE session SET status = ?", (status,))
        with store.database.reading() as db:
            said = tell_waiting(db, time.time() - DAY_S)
    count = len(ids(await desk.ask(about="queue")))
    assert said.startswith(f"context-mode: {count} session") if count else not said
    if said:
        call = json.loads(said.partition("ctx_session ")[2])
        assert len(ids(await desk.ask(**call))) == count


# What leaves has no secrets and no control characters


@pytest.mark.parametrize("about", ["snapshot", "digest", "resume", "queue"])
async def test_what_got_past_the_gate_is_redacted_and_harmless_all_the_same(desk, about):
    name = desk.keep("one", ago_s=2 * DAY_S, ask="PLACE it.", compacted="PLACE it.")
    hostile = f"\x1b[2J{SECRET} \u202e"
    with open_sessions(desk.config) as store:
        with store.database.writing() as db:
            db.execute("UPDATE session SET title = ?", (hostile,))
            db.execute("UPDATE event SET text = ? WHERE category = 'prompt'", (hostile,))
        with store.database.reading() as db:
            assert db.execute("SELECT title FROM session").fetchone() == (hostile,)
    given = {} if about == "queue" else {"id": name}
    reply = await desk.ask(about=about, **given)
    shown = reply.text + json.dumps(reply.data, ensure_ascii=False)
    assert SECRET not in shown
    assert not set(shown) & set("\x1b\u202e")
    assert "[REDACTED:" in reply.text


# Turned off


@pytest.mark.parametrize("about", ["snapshot", "queue"])
async def test_where_sessions_are_off_it_says_who_turned_them_off_and_what_turns_them_on(
    desk, monkeypatch, about
):
    desk.keep("one", ago_s=2 * DAY_S)
    file = desk.config.project / PROJECT_FILE
    file.parent.mkdir(exist_ok=True)
    file.write_text("[transcripts]\nevents = false\n")
    with pytest.raises(ContextModeError) as by_file:
        await desk.ask(about=about)
    assert str(file) in by_file.value.message
    assert "events = false" in by_file.value.hint
    file.unlink()
    assert (await desk.ask(about=about)).text
    monkeypatch.setenv("CONTEXT_MODE_TRANSCRIPTS_EVENTS", "0")
    with pytest.raises(ContextModeError) as by_variable:
        await desk.ask(about=about)
    assert "unset CONTEXT_MODE_TRANSCRIPTS_EVENTS" in by_variable.value.hint


async def test_where_they_are_off_nothing_is_read_or_recorded(desk, monkeypatch):
    monkeypatch.setenv("CONTEXT_MODE_TRANSCRIPTS_EVENTS", "0")
    desk.calls.add("zed", "", "ctx_execute", {"language": "shell", "code": "ls"}, "")
    with pytest.raises(ContextModeError):
        await desk.ask("zed")
    assert not os.path.exists(desk.config.sessions_file)
