"""A damaged store of sessions: each verb says so, and what no transcript has comes back."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from base.stores import copies
from ctxmode import cli
from ctxmode.config.locations import load_config
from ctxmode.errors import ContextModeError
from ctxmode.operations import sessions
from tests.ctxmode.commands.test_sessions import ID, OTHER, SECRET, listed, write
from tests.memory.facts.damages import DAMAGES, overwrite_head

TOLD = "was damaged, and its copy of"
VERBS = (
    ("list",), ("status",), ("queue",), ("show", ID), ("tools",), ("compactions",),
    ("snapshot",), ("resume", ID), ("digest", ID), ("track",), ("check",), ("pin", ID),
    ("pause", ID), ("export", ID, "--to", "out"), ("show", "nothing"),
)  # fmt: skip


@pytest.fixture
def store(place, ask):
    """A store of a pinned session, an imported one, and one that was forgotten; its transcript is
    there."""
    write(place)
    write(place, OTHER)
    ask("track")
    chat = place.parent / "chat.jsonl"
    begin = {"type": "session", "id": "run-7", "agent": "my_bot", "working_directory": str(place)}
    chat.write_text(f"{json.dumps(begin)}\n{json.dumps({'role': 'user', 'content': 'Why?'})}\n")
    ask("import", chat)
    chat.unlink()
    ask("pin", ID)
    ask("forget", OTHER, "--yes")
    assert listed(ask) == {ID, "run-7"}
    return load_config(str(place)).sessions_file


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_no_transcript_has_outlives_any_damage(store, ask, damage):
    damage(store)
    ask("track")
    found = {one["host_id"]: one["pinned"] for one in ask("list", "--json")["sessions"]}
    assert found == {ID: True, "run-7": False}  # what was forgotten is not read again


@pytest.mark.parametrize("words", VERBS, ids=lambda words: words[0])
def test_each_verb_says_that_the_store_was_damaged(store, ask, capsys, words):
    overwrite_head(store)
    for _ in range(2):  # whoever came first was perhaps a hook, which tells nobody
        cli.main(["sessions", *words])
        assert TOLD in capsys.readouterr().err
    for aside in store.parent.glob("*.corrupt-*"):
        aside.unlink()
    cli.main(["sessions", *words])
    assert TOLD not in capsys.readouterr().err


def test_other_verbs_that_show_sessions_say_it_too(store, capsys):
    overwrite_head(store)
    cli.main(["kept", "stats", "--tokens"])
    assert TOLD in capsys.readouterr().err


def test_without_a_copy_a_new_store_is_begun_and_it_is_said(store, ask):
    for copy in (store.parent / "snapshots").glob("*.sessions-*.sqlite3"):
        copy.unlink()
    overwrite_head(store)
    assert "was damaged, and there was no copy of it" in ask("track")
    assert listed(ask) == {ID, OTHER}  # the positive control: nothing said that one is forgotten


def test_a_damaged_copy_is_passed_over_for_an_older_one(store, ask):
    (copy,) = (store.parent / "snapshots").glob("*.sessions-*.sqlite3")
    copy.with_name(copy.name.replace(copy.stem[-10:], "2020-01-01")).write_bytes(copy.read_bytes())
    overwrite_head(copy)
    overwrite_head(store)
    assert "its copy of 2020-01-01 replaced it" in ask("list")


@pytest.fixture
def large(store, monkeypatch):
    """The store, as if it were too large to be looked through whenever it is opened."""
    monkeypatch.setattr(copies, "CHECKED_BYTES_MAX", 0)
    overwrite_page(store)
    return store


def overwrite_page(path):
    """Damage a page that is not read where a file is only opened."""
    with closing(sqlite3.connect(path)) as db:
        sql = "SELECT rootpage FROM sqlite_master WHERE name = 'snapshot'"
        (page,) = db.execute(sql).fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)


def test_damage_in_a_large_store_is_found_by_its_copy_and_by_mending(large, ask):
    for copy in (large.parent / "snapshots").glob("*.sessions-*.sqlite3"):
        copy.rename(copy.with_name(copy.name.replace(copy.stem[-10:], "2020-01-01")))
    assert TOLD in ask("track")
    overwrite_page(large)
    assert TOLD in ask("check", "--mend")
    assert listed(ask) == {ID, "run-7"}


def test_in_a_damaged_store_nothing_is_forgotten_until_it_is_mended(large):
    with (
        sessions.translate_session_errors(),
        pytest.raises(ContextModeError, match=f"{large.name}: .*Page") as raised,
        sessions.open_sessions(load_config()) as opened,
    ):
        sessions.forget_sessions(load_config(), opened, [f"claude_code:{ID}"])
    assert "sessions check --repair" in raised.value.hint
    assert len(list((large.parent / "snapshots").glob("*.sessions-*.sqlite3"))) == 1


def test_what_is_forgotten_leaves_no_byte_in_a_copy(place, ask):
    for session, word in ((ID, b"Zyzzogeton"), (OTHER, b"Quodlibet")):
        path = write(place, session)
        path.write_bytes(path.read_bytes().replace(b"Mend the parser", word))
    ask("track")
    folder = load_config(str(place)).sessions_file.parent / "snapshots"

    def read_copies():
        return b"".join(path.read_bytes() for path in folder.iterdir())

    assert b"Quodlibet" in read_copies()
    ask("forget", OTHER, "--yes")
    assert b"Quodlibet" not in read_copies()
    assert b"Zyzzogeton" in read_copies()  # the positive control: there is a copy of the rest
    assert SECRET.encode() not in read_copies()
