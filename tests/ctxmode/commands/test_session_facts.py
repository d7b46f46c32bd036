"""A session's summary becomes facts, and they go with the session only when that is said (X14)."""

import json
import sqlite3
from contextlib import closing

import pytest

from ctxmode import cli
from ctxmode.operations.sessions import maintain_stores
from tests.ctxmode.projects import answer, prompt

ID = "aaaa0000-0000-4000-8000-000000000001"
OWN = f"claude_code:{ID}"
SUMMARY = {
    "summary": "The parser was mended.",
    "details": "It read one line too many.",
    "decisions": ["Keep the old grammar.", "No regex."],
    "contacts": ["Ada wrote the parser"],
    "learnings": ["Tests need port 5433", "The cache is cold at first"],
    "action_items": ["Write the docs"],
}
PATHS = [
    f"/memory/actions/{OWN}/write-the-docs",
    f"/memory/contacts/{OWN}/ada-wrote-the-parser",
    f"/memory/learnings/{OWN}/tests-need-port-5433",
    f"/memory/learnings/{OWN}/the-cache-is-cold-at-first",
    f"/sessions/{OWN}/decisions",
    f"/sessions/{OWN}/details",
    f"/sessions/{OWN}/summary",
]


@pytest.fixture
def ask(user, capsys, tmp_path, monkeypatch):
    """Run a verb in the project of one session; its data."""
    user.track("here", ID, prompt("Mend the parser."), answer("Done."))
    project = str(user.config("here").project)

    def run(*words, code=0):
        capsys.readouterr()
        assert cli.main([words[0], "--project", project, *words[1:]]) == code
        shown = capsys.readouterr()
        return json.loads(shown.out) if "--json" in words and not code else shown.out + shown.err

    def summarize(value, session=ID):
        file = tmp_path / "summary.json"
        file.write_text(json.dumps(value))
        return run("sessions", "summarize", session, "--from", str(file), "--json")

    run.summarize = summarize
    run.list = lambda: {
        one["path"]: one for one in run("memory", "list", "--json")["facts"]
    }  # fmt: skip
    return run


def test_x14_a_summary_becomes_facts_whose_author_is_the_session(ask):
    ask.summarize(SUMMARY)
    facts = ask.list()
    assert sorted(facts) == PATHS
    assert {(one["agent"], one["session"]) for one in facts.values()} == {("claude_code", OWN)}
    assert facts[f"/sessions/{OWN}/decisions"]["text"] == "- Keep the old grammar.\n- No regex."
    for path, one in facts.items():
        assert (one["expires_at"] is not None) == path.startswith("/sessions/")


def test_x14_a_summary_that_is_written_again_takes_the_place_of_its_facts(ask):
    ask.summarize(SUMMARY)
    path = f"/memory/contacts/{OWN}/ada-wrote-the-parser"
    folder, _, key = path.removeprefix("/memory/").rpartition("/")
    ask("memory", "remember", "Bob wrote it", "--context", folder, "--key", key, "--json")
    ask.summarize({**SUMMARY, "summary": "All is mended.", "learnings": ["Tests need port 5433"]})
    facts = ask.list()
    assert sorted(facts) == [one for one in PATHS if "cache" not in one]
    assert facts[f"/sessions/{OWN}/summary"]["text"] == "All is mended."
    assert facts[path]["text"] == "Bob wrote it"  # a person's correction stays


@pytest.mark.parametrize(("option", "left"), [("--facts", []), ("--keep-facts", PATHS)])
def test_facts_of_a_forgotten_session_go_as_it_is_said(ask, option, left):
    ask.summarize(SUMMARY)
    assert "--keep-facts" in ask("sessions", "forget", ID, "--yes", code=2)
    assert sorted(ask.list()) == PATHS
    gone = ask("sessions", "forget", ID, "--yes", option, "--json")
    assert gone["forgotten"] == [OWN]
    assert sorted(ask.list()) == left


def test_a_summary_is_kept_where_its_facts_cannot_be(ask, user):
    user.config("here").facts_file.mkdir(parents=True)
    ask.summarize(SUMMARY)
    shown = ask("sessions", "show", ID, "--summary", "--json")
    assert SUMMARY["summary"] in json.dumps(shown)


def test_x14_a_persons_own_words_stay_when_a_sessions_are_erased(ask, user):
    ask.summarize(SUMMARY)
    own = f"learnings/{OWN}"
    ask("memory", "remember", "Tests need port 5433", "--key", "port")  # the same, elsewhere
    ask(
        "memory",
        "remember",
        "Bob wrote it",
        "--context",
        f"contacts/{OWN}",
        "--key",
        "ada-wrote-the-parser",
    )
    ask(
        "memory",
        "remember",
        "The cache is cold at first",
        "--context",
        own,
        "--key",
        "the-cache-is-cold-at-first",
        "-i",
        "high",
    )  # the same, confirmed
    ask("memory", "remember", "Ours", "--context", own, "--key", "ours")
    told = ask("sessions", "forget", ID, "--yes", "--facts", "--json")
    assert sorted(told["facts"]) == [
        one for one in PATHS if "cache" not in one
    ]  # fmt: skip
    texts = {one["path"]: one["text"] for one in ask("memory", "list", "--json")["facts"]}
    assert texts == {
        "/memory/general/port": "Tests need port 5433",
        f"/memory/contacts/{OWN}/ada-wrote-the-parser": "Bob wrote it",
        f"/memory/{own}/the-cache-is-cold-at-first": "The cache is cold at first",
        f"/memory/{own}/ours": "Ours",
    }
    data = b"".join(file.read_bytes() for file in user.config("here").facts_file.parent.rglob("*")
                    if file.is_file() and ".memory" in file.name)  # fmt: skip
    assert b"Ada wrote the parser" not in data
    assert b"Write the docs" not in data


def test_what_another_session_wrote_stays(ask, user):
    other = "bbbb0000-0000-4000-8000-000000000002"
    user.track("here", other, prompt("Again."), answer("Done."))
    ask.summarize({"summary": "One.", "learnings": ["The same"]})
    ask.summarize({"summary": "Two.", "learnings": ["The same"]}, other)
    ask("sessions", "forget", ID, "--yes", "--facts", "--json")
    assert sorted(ask.list()) == [
        f"/memory/learnings/claude_code:{other}/the-same",
        f"/sessions/claude_code:{other}/summary",
    ]
    assert "nothing was deleted" in ask("sessions", "forget", other, "--yes", code=2)


def let_go(user, days=400):
    """Make the project's sessions too old, and delete those that are."""
    config = user.config("here")
    with closing(sqlite3.connect(config.sessions_file)) as db, db:
        db.execute("UPDATE session SET last_at = last_at - ?1, created_at = created_at - ?1",
                   (days * 86_400,))  # fmt: skip
        # Something of last week, so that the clock is believed.
        db.execute("UPDATE turn SET at = unixepoch() - 7 * 86400")
    maintain_stores(config)


def test_x14_what_a_session_said_goes_when_it_is_let_go_and_what_it_found_stays(ask, user):
    ask.summarize(SUMMARY)
    ask("memory", "remember", "A note.", "--key", f"/sessions/{OWN}/note")
    let_go(user)
    assert ask("sessions", "list", "--json")["sessions"] == []
    found = [one for one in PATHS if not one.startswith("/sessions")]
    assert sorted(ask.list()) == [*found, f"/sessions/{OWN}/note"]
    assert b"one line too many" not in user.config("here").facts_file.read_bytes()
    changes = ask("memory", "log", "--json")["changes"]
    gone = {one["path"]: one["why"] for one in changes if one["operation"] == "erase"}
    assert gone == {
        f"/sessions/{OWN}/{part}": "its session expired"
        for part in ("summary", "decisions", "details")
    }


def test_a_session_that_is_kept_keeps_its_facts(ask, user):
    ask.summarize(SUMMARY)
    ask("sessions", "pin", ID, "--json")
    let_go(user)
    assert len(ask("sessions", "list", "--json")["sessions"]) == 1
    assert sorted(ask.list()) == PATHS


def test_sessions_are_let_go_where_their_facts_cannot_be_erased(ask, user):
    ask.summarize(SUMMARY)
    user.config("here").facts_file.write_bytes(b"no database")
    let_go(user)
    assert ask("sessions", "list", "--json")["sessions"] == []


def test_a_subagents_facts_go_with_its_session(ask, user):
    other = "bbbb0000-0000-4000-8000-000000000002"
    user.track("here", other, prompt("Again."), answer("Done."))
    ask.summarize({"summary": "Two.", "learnings": ["The same"]}, other)
    with closing(sqlite3.connect(user.config("here").sessions_file)) as db, db:
        db.execute(
            "UPDATE session SET parent_id = ?, relation = 'subagent' WHERE id LIKE '%' || ?",
            (OWN, other),
        )
    db.close()
    assert len(ask("sessions", "forget", ID, "--yes", "--facts", "--json")["facts"]) == 2
    assert ask.list() == {}
