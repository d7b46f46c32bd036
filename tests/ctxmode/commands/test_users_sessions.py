"""The user's own sessions, which are of no project: every verb reaches them, from any project."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import zlib
from contextlib import closing
from string import ascii_lowercase

import pytest

from ctxmode.operations.session_store import USER_STORE
from tests.ctxmode.projects import prompt

MARK = "Zyzzogeton"
HERE = "aaaa0000-0000-4000-8000-000000000001"
THERE = "bbbb0000-0000-4000-8000-000000000002"
DAY_S = 86_400


def chat(name, at="2026-11-20T00:00:00Z", text=f"What is a {MARK}?"):
    rows = [
        {"type": "session", "id": name, "agent": "chatgpt", "title": f"About {MARK}"},
        {"role": "user", "content": text, "at": at},
        {"role": "assistant", "content": f"A {MARK} is an insect.", "at": at},
    ]
    return "".join(f"{json.dumps(row)}\n" for row in rows)


class Own:
    """The user's own sessions as a project's user has them."""

    def __init__(self, user):
        self.user, self.folder = user, user.home.parent / "data" / "projects"
        self.store, self.index = self.folder / USER_STORE, self.folder / "user.sqlite3"

    def import_chats(self, *chats, project="here"):
        path = self.user.home / "chats.jsonl"
        path.write_text("".join(chats))
        self.user.ask(project, "sessions", "import", str(path))
        path.unlink()

    def ask(self, *words, project="here", code=0):
        return self.user.ask(project, "sessions", *words, code=code)

    def listed(self, *words):
        found = self.ask("list", "--json", *words)["sessions"]
        return {one["host_id"]: one for one in found}

    def tidy(self, *, confirmed_h=48):
        """Delete what is too old or too much. A turn of some hours ago confirms the clock."""
        self.change("UPDATE turn SET at = unixepoch() - ? * 3600", confirmed_h)
        self.ask("track")
        return set(self.listed())

    def change(self, sql, *values):
        with closing(sqlite3.connect(self.store)) as db, db:
            db.execute(sql, values)


@pytest.fixture
def own(user):
    """A store with one chat, whose full texts are kept and indexed."""
    user.write_settings("[transcripts]\nmessages = true\n")
    made = Own(user)
    made.import_chats(chat("c-1"))
    return made


@pytest.mark.parametrize("project", ["here", "there"])
@pytest.mark.parametrize(
    ("verb", "field", "value"),
    [
        ("pause", "status", "paused"),
        ("complete", "status", "completed"),
        ("reopen", "status", "active"),
        ("pin", "pinned", True),
    ],
)
def test_a_person_says_what_becomes_of_one_from_any_project(own, verb, field, value, project):
    own.ask(verb, "c-1", project=project)
    assert own.listed()["c-1"][field] == value
    if verb == "pin":
        own.ask("unpin", "c-1", project=project)
        assert not own.listed()["c-1"]["pinned"]


def test_r14_one_is_queued_digested_and_summarised(own, user):
    own.ask("complete", "c-1")
    assert [one["id"] for one in own.ask("queue", "--json")["queue"]] == ["chatgpt:c-1"]
    assert MARK in own.ask("digest", "c-1")
    file = user.home / "summary.txt"
    file.write_text("An insect.")
    own.ask("summarize", "c-1", "--from", str(file))
    assert own.ask("queue", "--json") == {"queue": []}
    assert own.listed()["c-1"]["summary"] == "An insect."


WRITING = [["pause"], ["complete"], ["reopen"], ["pin"], ["unpin"], ["digest"],
           ["forget", "--yes"], ["summarize", "--from", os.devnull]]  # fmt: skip


@pytest.mark.parametrize("words", WRITING, ids=lambda words: words[0])
def test_no_verb_reaches_a_session_of_another_project(own, user, words, tmp_path):
    user.track("there", THERE, prompt("Paint the shed."))
    words = [str(user.home / "summary") if one == os.devnull else one for one in words]
    (user.home / "summary").write_text("Painted.")
    (store,) = own.folder.glob("there-*.sessions.sqlite3")
    with closing(sqlite3.connect(store)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = store.read_bytes()
    assert "no session" in own.ask(words[0], THERE, *words[1:], code=2)
    assert store.read_bytes() == before


def stored_bytes(folder):
    """All bytes of all files, with what is deflated in tables inflated."""
    parts = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        parts.append(path.read_bytes())
        if path.suffix == ".sqlite3":
            parts += values_of(path)
    return b"\n".join(parts)


def values_of(path):
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
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


def test_what_is_forgotten_leaves_no_byte_in_store_or_index(own):
    own.import_chats(chat("c-2", text="What is a monad?").replace(MARK, "monad"))
    before = stored_bytes(own.folder)
    assert before.count(MARK.encode()) > 3  # the positive control
    for path in (own.store, own.index):
        assert MARK.encode() in b"\n".join(values_of(path))
    assert own.ask("forget", "c-1", "--yes", "--json") == {"forgotten": ["chatgpt:c-1"]}
    after = stored_bytes(own.folder)
    assert MARK.encode() not in after
    assert b"monad" in after
    own.import_chats(chat("c-1"), chat("c-2", text="What is a monad?").replace(MARK, "monad"))
    assert set(own.listed()) == {"c-2"}
    assert MARK.encode() not in stored_bytes(own.folder)


def test_one_of_each_store_is_forgotten_at_once(own, user):
    user.track("here", HERE, prompt("Mend the parser."))
    gone = own.ask("forget", HERE, "c-1", "--yes", "--json")["forgotten"]
    assert set(gone) == {f"claude_code:{HERE}", "chatgpt:c-1"}
    assert own.listed() == {}


def test_a_session_that_both_stores_hold_is_forgotten_in_both(own, user):
    user.track("here", HERE, prompt("Mend the parser."))
    with closing(sqlite3.connect(own.store)) as db, db:
        db.execute("UPDATE session SET id = ?, host_id = ?", (f"claude_code:{HERE}", HERE))
        db.execute("UPDATE message SET session_id = ?", (f"claude_code:{HERE}",))
    own.ask("forget", HERE, "--yes")
    assert own.listed() == {}


def test_where_the_index_cannot_be_written_nothing_is_forgotten(own):
    own.index.write_bytes(own.index.read_bytes())
    with closing(sqlite3.connect(own.index)) as db:
        db.execute("PRAGMA user_version = 999")
    own.ask("forget", "c-1", "--yes", code=1)
    assert set(own.listed()) == {"c-1"}


def test_all_of_a_project_is_purged_and_the_users_own_stays(own, user):
    user.track("here", HERE, prompt("Mend the parser."))
    assert set(own.listed()) == {HERE, "c-1"}
    purged = user.ask("here", "kept", "rm", "--all", "--pinned", "--yes", "--json")
    assert purged["sessions"] == 1
    assert set(own.listed()) == {"c-1"}
    assert MARK.encode() in b"\n".join(values_of(own.index))


def test_an_old_chat_stays_from_its_import_on_and_goes_when_that_is_long_ago(own, user):
    old = chat("c-old", "2020-01-01T00:00:00Z")
    own.import_chats(old, chat("c-pinned", "2020-01-01T00:00:00Z"))
    own.ask("pin", "c-pinned")
    assert set(own.listed()) == {"c-1", "c-old", "c-pinned"}
    own.change("UPDATE session SET created_at = created_at - ?, last_at = 0", 31 * DAY_S)
    own.change("UPDATE session SET last_at = last_at + 5e9 WHERE host_id = 'c-1'")
    assert set(own.listed()) == {"c-1", "c-old", "c-pinned"}  # a list deletes nothing
    assert own.tidy() == {"c-1", "c-pinned"}
    with closing(sqlite3.connect(own.store)) as db:
        assert db.execute("SELECT COUNT(*) FROM session").fetchone() == (2,)
    labels = b"\n".join(values_of(own.index))
    assert b"chatgpt:c-old" not in labels
    assert b"chatgpt:c-1" in labels  # the positive control


def test_an_import_lets_go_what_is_too_old(own):
    own.change("UPDATE session SET created_at = 1, last_at = 1")
    own.change("UPDATE turn SET at = unixepoch() - 48 * 3600")
    own.import_chats(chat("c-2"))
    with closing(sqlite3.connect(own.store)) as db:
        assert db.execute("SELECT host_id FROM session").fetchall() == [("c-2",)]


def noise(seed):
    """Words that cannot be deflated to much less than 30 KB."""
    chance = random.Random(seed)
    return " ".join("".join(chance.choices(ascii_lowercase, k=6)) for _ in range(9000))


def test_of_too_much_the_longest_imported_go_first_and_pinned_ones_never(own, user):
    own.ask("pin", "c-1")
    own.import_chats(chat("c-newer", "2022-01-01T00:00:00Z", noise(1)),
                     chat("c-new", "2021-01-01T00:00:00Z", noise(2)))  # fmt: skip
    own.import_chats(chat("c-last", "2020-01-01T00:00:00Z", noise(3)))
    room = own.store.stat().st_size - 10_000
    user.write_settings(f"[transcripts]\nmessages = true\n[quota]\nsessions_bytes = {room}\n")
    assert own.tidy() == {"c-1", "c-newer", "c-last"}
    assert own.store.stat().st_size <= room


@pytest.mark.parametrize("bound", ["[quota]\nsessions_bytes = 1", "[transcripts]\nkeep_days = 1"])
def test_no_projects_file_takes_anything_of_it(own, user, bound):
    own.change("UPDATE session SET created_at = created_at - ?, last_at = 0", 2 * DAY_S)
    file = user.project("here") / ".ctxmode" / "config.toml"
    file.parent.mkdir()
    file.write_text(f"{bound}\n")
    assert own.tidy(confirmed_h=18) == {"c-1"}
    own.import_chats(chat("c-2"))
    assert set(own.listed()) == {"c-1", "c-2"}
    user.write_settings(f"{bound}\n")  # the positive control: the user's own file does
    assert "c-1" not in own.tidy(confirmed_h=18)


def test_a_list_does_not_write_to_it_where_nothing_is_over(own):
    with closing(sqlite3.connect(own.store)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("BEGIN IMMEDIATE")  # a writer that goes on
        assert set(own.listed()) == {"c-1"}


def test_status_names_it_and_its_size(own, user):
    told = own.ask("status", "--json")["users_store"]
    assert (told["path"], told["sessions"]) == (str(own.store), 1)
    assert told["bytes"] >= own.store.stat().st_size
    shown = own.ask("status", project="there")
    assert f"your own store, of sessions without a project: {own.store}" in shown
    assert "store: empty" in shown


def test_a_damaged_one_is_told_by_each_look_and_comes_back_from_its_copy(own):
    own.store.with_name(f"{USER_STORE}-wal").unlink(missing_ok=True)
    own.store.write_bytes(b"no database " * 1000)
    assert set(own.listed()) == {"c-1"}
    for verb in ("status", "list", "check"):
        assert "was damaged, and its copy of" in own.ask(verb)


def test_check_finds_and_mends_wrong_counts_in_it(own):
    assert f"{own.store}: no problems found." in own.ask("check")
    own.change("UPDATE session SET messages = 99")
    assert "chatgpt:c-1: messages is 99" in own.ask("check", code=1)
    own.ask("check", "--mend")
    assert own.ask("check", "--json")["problems"] == []
