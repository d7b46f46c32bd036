"""A session as bounded turns (R17), and what whoever summarised it found (R18)."""

from __future__ import annotations

import pytest

from ctxmode.hosts.claude_code.transcript import IMPORTER
from memory.sessions.digesting import capture_turns
from memory.sessions.maintenance import Summary, read_summary
from memory.sessions.reading import find_session
from memory.sessions.session_news import read_prompts
from tests.base.secret_corpus import made
from tests.memory.sessions.claude_records import Maker, bring_in, open_store, write

OWN = "claude_code:11111111-2222-3333-4444-555555555555"


def captured(tmp_path, records) -> list[dict]:
    """The turns of a session with these records, whose texts are kept."""
    path = write(tmp_path / "t.jsonl", records)
    with open_store(tmp_path / "s.sqlite3", keep_messages=True) as store:
        bring_in(store, path)
        with store.database.reading() as db:
            session = find_session(db, OWN)
        return capture_turns(store.read_full_messages(lambda _: IMPORTER, session), {})


def test_a_turn_has_its_prompt_its_answers_and_its_tools_once(tmp_path):
    make = Maker()
    records = [
        make.prompt("First?"),
        make.answer("Looking."),
        *make.run(1, "ls"),
        *make.run(2, "ls -a"),
        make.answer("Done."),
        make.prompt("Second?"),
    ]
    first, second = captured(tmp_path, records)
    assert first.pop("ts").endswith("Z")
    assert first == {"turn": 1, "user": "First?", "assistant": "Looking.\nDone.", "tools": ["Bash"]}
    assert set(second) == {"ts", "turn", "user"}


@pytest.mark.parametrize("letter", ["a", "ä", "語", "🎉"])
def test_texts_are_cut_between_characters_with_the_mark_within_the_bound(tmp_path, letter):
    make = Maker()
    (turn,) = captured(tmp_path, [make.prompt(letter * 5000), make.answer(letter * 5000)])
    for text, bound in ((turn["user"], 2048), (turn["assistant"], 4096)):
        assert bound - 8 <= len(text.encode()) <= bound
        assert text == letter * (len(text) - 1) + "…"


@pytest.mark.parametrize(
    ("asked", "dropped"), [(499, 0), (500, 0), (501, 100), (600, 100), (601, 200), (1000, 500)]
)
def test_of_too_many_turns_the_oldest_hundred_go_and_their_number_adds_up(tmp_path, asked, dropped):
    make = Maker()
    capture = captured(tmp_path, [make.prompt(f"Question {n}") for n in range(1, asked + 1)])
    mark = {"truncated": {"dropped": dropped, "reason": "buffer_cap"}}
    assert (capture[0] == mark) is bool(dropped)
    turns = [record["turn"] for record in capture if record != mark]
    assert turns == list(range(dropped + 1, asked + 1))


def test_secrets_of_a_turn_are_not_in_it(tmp_path):
    make = Maker()
    token = "ghp_" + made(36)
    (turn,) = captured(tmp_path, [make.prompt(f"Use {token} now"), make.answer("It is set")])
    assert token not in turn["user"]
    assert turn["user"].startswith("Use [REDACTED")
    assert turn["assistant"] == "It is set"


def test_a_summary_is_read_as_it_was_given(tmp_path):
    path = write(tmp_path / "t.jsonl", [Maker().prompt("Go on")])
    given = Summary("Short.", "Long.", ("One",), ("Ann",), ("Two", "Three"), ())
    with open_store(tmp_path / "s.sqlite3") as store:
        bring_in(store, path)
        with store.database.reading() as db:
            assert read_summary(db, OWN) is None
        store.save_summary(OWN, given)
        with store.database.reading() as db:
            assert read_summary(db, OWN) == given


def test_of_a_text_that_is_gone_what_the_event_has_stands_in(tmp_path):
    path = write(tmp_path / "t.jsonl", [Maker().prompt("First?"), Maker(prefix="a").answer("Yes")])
    with open_store(tmp_path / "s.sqlite3") as store:
        bring_in(store, path)
        path.unlink()
        with store.database.reading() as db:
            session, prompts = find_session(db, OWN), read_prompts(db, OWN)
        (turn,) = capture_turns(store.read_full_messages(lambda _: IMPORTER, session), prompts)
    assert (turn["user"], "assistant" in turn) == ("First?", False)
