"""Forgetting leaves no byte and lasts; counts that do not agree are found and put right."""

from __future__ import annotations

import pytest

from memory.sessions import maintenance
from memory.sessions.maintenance import Summary
from memory.sessions.reading import find_session
from memory.sessions.records import MessageRecord, SessionRecord
from memory.sessions.session_news import save_snapshot
from tests.memory.sessions.claude_records import (
    SESSION,
    Maker,
    all_bytes,
    bring_in,
    open_store,
    problems_of,
    rows,
    write,
)

WORD = "Zyzzogeton"
OWN = f"claude_code:{SESSION}"
FORK = "99999999-2222-3333-4444-555555555555"


def telling(make):
    """A session that says a word in everything that it has."""
    side = {"isSidechain": True, "agentId": "a1"}
    task = {"task": {"id": "1", "subject": f"Do {WORD}"}}
    return [
        make.prompt(f"Always say {WORD}.", cwd=f"/p/{WORD}", gitBranch=WORD, version=WORD),
        make.record("ai-title", aiTitle=WORD),
        make.answer(f"I say {WORD}", usage={"output_tokens": 3}, response="m1"),
        *make.run(1, f"echo {WORD}", f"error: {WORD}", failed=True),
        make.call("Write", 2, {"file_path": f"/p/{WORD}.py", "content": WORD}),
        make.result(2, toolUseResult=task),
        *make.compaction(f"They said {WORD}"),
        make.prompt(f"Look at {WORD}", **side),
        make.answer(f"Seen {WORD}", **side),
    ]


def forget(store, *sessions):
    with store.database.writing() as db:
        gone = maintenance.forget(db, sessions or [OWN])
    with store.database.exclusively() as db:
        maintenance.compact(db)
    return gone


@pytest.fixture
def told(tmp_path):
    """A store that read such a session, and the session's transcript and records."""
    records = telling(Maker())
    path = write(tmp_path / "t.jsonl", records)
    with path.open("a") as file:
        file.write(f'{{"no JSON": "{WORD}\n')
    with open_store(tmp_path / "s.sqlite3", keep_messages=True) as store:
        bring_in(store, path)
        with store.database.writing() as db:
            save_snapshot(db, OWN, f"They say {WORD}", trigger="auto", at=1.0)
        store.save_summary(OWN, Summary(f"About {WORD}", details=WORD, decisions=(WORD,)))
        assert all_bytes(store).count(WORD.encode()) > 20  # the positive control
        yield store, path, records


def test_what_is_forgotten_leaves_no_byte_in_file_or_log(told):
    store, _, _ = told
    assert len(forget(store)) == 2  # the subagent's, too
    assert WORD.encode() not in all_bytes(store)
    assert not problems_of(store)
    assert (store.database.path.with_name("s.sqlite3-wal")).stat().st_size == 0


def test_it_is_not_read_again_from_its_transcript(told):
    store, path, _ = told
    forget(store)
    with store.database.writing() as db:
        db.execute("DELETE FROM source")
    write(path, [Maker(prefix="later").prompt(f"More of {WORD}")], "a")
    assert bring_in(store, path).messages == 0
    assert rows(store, "SELECT COUNT(*) FROM session") == [(0,)]


def test_it_is_not_read_again_from_a_copy_under_another_name(told, tmp_path):
    store, _, records = told
    forget(store)
    for number, session in enumerate((FORK, "")):
        copy = write(tmp_path / f"copy{number}.jsonl", records)
        assert bring_in(store, copy, session).messages == 0
    assert WORD.encode() not in all_bytes(store)


def test_it_is_not_read_again_from_a_fork(told, tmp_path):
    """A fork begins with the same records under its own session's id."""
    store, _, records = told
    forget(store)
    make = Maker(FORK, "f")
    own = [make.prompt("Never say it."), make.answer("I do not", usage={"output_tokens": 5})]
    copied = [
        {**one, "sessionId": FORK, "cwd": "/p", "gitBranch": "x", "version": "1"} for one in records
    ]
    copied = [one for one in copied if one["type"] != "ai-title"]
    fork = write(tmp_path / "fork.jsonl", [*copied, *own])
    assert bring_in(store, fork, FORK).messages == 2
    assert WORD.encode() not in all_bytes(store)
    found = rows(
        store, "SELECT messages, output_tokens, compactions FROM session WHERE parent_id = ''"
    )
    assert found == [(2, 5, 0)]
    assert not problems_of(store)


def test_a_fork_that_was_read_before_keeps_its_own_words_alone(told, tmp_path):
    store, _, records = told
    own = Maker(FORK, "f").prompt("Never say it.")
    copied = [{**one, "sessionId": FORK} for one in records if one["type"] != "ai-title"]
    fork = write(tmp_path / "fork.jsonl", [*copied, own])
    bring_in(store, fork, FORK)
    assert rows(store, "SELECT relation FROM session WHERE host_id = ?", FORK) == [("fork",)]
    forget(store)
    with store.database.writing() as db:
        db.execute("UPDATE source SET offset = 0, inode = 0")
    bring_in(store, fork, FORK)
    assert rows(store, "SELECT text FROM event") == [("Never say it.",)] * 2


def test_subagents_that_are_read_only_later_are_not_read_at_all(told, tmp_path):
    store, _, _ = told
    forget(store)
    side = {"isSidechain": True, "agentId": "late"}
    path = write(tmp_path / "agent-late.jsonl", [Maker(prefix="l").prompt(WORD, **side)])
    assert bring_in(store, path, "").messages == 0
    assert WORD.encode() not in all_bytes(store)


def test_subagents_of_subagents_go_too(tmp_path):
    with open_store(tmp_path / "s.sqlite3") as store:
        for session, parent in (("a", ""), ("b", "a"), ("c", "b"), ("d", ""), ("e", "c")):
            relation = "subagent" if parent else ""
            store.record("own", [SessionRecord(session, parent, relation)], now=1.0)
        store.record("own", [SessionRecord("f", "a", "fork")], now=1.0)
        assert set(forget(store, "own:a")) == {"own:a", "own:b", "own:c", "own:e"}
        assert set(rows(store, "SELECT host_id FROM session")) == {("d",), ("f",)}


def test_what_is_over_its_time_is_read_again_where_it_goes_on(told):
    store, path, _ = told
    with store.database.writing() as db:
        maintenance.delete(db, [OWN])
    write(path, [Maker(prefix="later").prompt("More")], "a")
    assert bring_in(store, path).messages == 1


def compact(store):
    """Give back what is free, and return how large the file is then."""
    with store.database.exclusively() as db:
        maintenance.compact(db)
        assert db.execute("PRAGMA freelist_count").fetchone() == (0,)
    return maintenance.measure(store.database.path)


def test_the_file_shrinks_by_all_that_was_deleted(tmp_path):
    said = MessageRecord("k", "k", "user", " ".join(map(str, range(500))), is_prompt=True)
    with open_store(tmp_path / "s.sqlite3", keep_messages=True) as store:
        before = compact(store)
        for n in range(60):
            told = [said._replace(key=f"{m}", group=f"{m}") for m in range(5)]
            store.record("own", [SessionRecord(f"s{n}"), *told], now=1.0)
        assert compact(store) > 3 * before
        with store.database.writing() as db:
            maintenance.delete(db, [f"own:s{n}" for n in range(60)])
        assert compact(store) <= before


COUNTS = ["messages", "tool_calls", "compactions", "input_tokens", "output_tokens"]


@pytest.mark.parametrize("wrong", [0, 99, None])
@pytest.mark.parametrize("name", COUNTS)
def test_a_count_that_was_tampered_with_is_found_and_mended(name, wrong, tmp_path):
    make = Maker()
    usage = {"input_tokens": 2, "output_tokens": 3}
    records = [make.prompt("Do it"), make.answer("Yes", usage=usage), *make.run(1, "make")]
    path = write(tmp_path / "t.jsonl", [*records, *make.compaction("They did")])
    with open_store(tmp_path / "s.sqlite3") as store:
        bring_in(store, path)
        before = rows(store, f"SELECT {', '.join(COUNTS)} FROM session")
        assert problems_of(store) == []
        if wrong is None and "tokens" not in name:
            return  # a count of messages cannot be missing
        with store.database.writing() as db:
            db.execute(f"UPDATE session SET {name} = ?", (wrong,))
        (problem,) = problems_of(store)
        assert name in problem
        assert OWN in problem
        with store.database.writing() as db:
            assert list(maintenance.check(db, repair=True)) == [problem]
        assert problems_of(store) == []
        assert rows(store, f"SELECT {', '.join(COUNTS)} FROM session") == before


def test_a_row_without_its_session_is_found(tmp_path):
    with open_store(tmp_path / "s.sqlite3") as store:
        store.record("own", [SessionRecord("a"), MessageRecord("k", "k", "user", "a", 1.0)])
        with store.database.exclusively() as db:
            db.execute("PRAGMA foreign_keys = OFF")
            db.execute("UPDATE message SET session_id = 'gone'")
        assert any("missing session" in problem for problem in problems_of(store))


def test_r8_a_persons_word_on_the_status_holds_until_there_is_activity(tmp_path):
    with open_store(tmp_path / "s.sqlite3") as store:
        make = Maker()
        path = write(tmp_path / "t.jsonl", [make.prompt("Do it")])
        bring_in(store, path)
        for status in ("paused", "completed", "archived", "active"):
            with store.database.writing() as db:
                maintenance.set_status(db, OWN, status)
            assert status_of(store) == status
        store.save_summary(OWN, Summary("Done"))
        assert status_of(store) == "archived"
        with store.database.writing() as db:
            db.execute("UPDATE source SET offset = 0, inode = 0")
        bring_in(store, path)  # the same bytes are no activity
        assert status_of(store) == "archived"
        write(path, [make.prompt("More")], "a")
        bring_in(store, path)
        assert status_of(store) == "active"
        assert status_of(store, after=3600) == "paused"
        assert status_of(store, after=90_000) == "archived"  # it has a summary


def status_of(store, after=0.0):
    with store.database.reading() as db:
        session = find_session(db, OWN, now=None)
        return find_session(db, OWN, now=session.last_at + after).status


def test_what_goes_first_and_what_stays(tmp_path):
    with open_store(tmp_path / "s.sqlite3") as store:
        for number, name in enumerate(("old", "archived", "pinned", "new")):
            at = float(number * 86_400)
            store.record("own", [SessionRecord(name), MessageRecord("k", "k", "user", "a", at)])
        with store.database.writing() as db:
            maintenance.set_summary(db, "own:archived", Summary("Done"))
            maintenance.set_pinned(db, "own:pinned", pinned=True)
            order = []
            while session := maintenance.find_next_to_go(db):
                order.append(session)
                maintenance.delete(db, [session])
            assert order == ["own:archived", "own:old", "own:new"]
            assert maintenance.find_expired(db, now=1e9, keep_days=1) == []
