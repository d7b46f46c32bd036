"""What whoever summarises a session gets (R14): each part of it, within 32 KiB."""

from __future__ import annotations

import pytest

from ctxmode.hosts.claude_code.transcript import IMPORTER
from memory.sessions.digesting import DIGEST_BYTES_MAX, SHARES, build_digest
from memory.sessions.reading import find_session, read_compactions
from memory.sessions.session_news import read_events
from tests.memory.sessions.claude_records import SESSION, Maker, bring_in, open_store, write


def digest_of(tmp_path, records) -> str:
    path = write(tmp_path / "t.jsonl", records)
    with open_store(tmp_path / "s.sqlite3", keep_messages=True) as store:
        bring_in(store, path)
        with store.database.reading() as db:
            session = find_session(db, SESSION)
            events, points = read_events(db, session.id), read_compactions(db, session.id)
        return build_digest(
            session, events, points, store.read_full_messages(lambda _: IMPORTER, session)
        )


@pytest.mark.parametrize("times", [1, 40, 4000])
@pytest.mark.parametrize("letter", ["a", "語"])
def test_of_each_part_at_least_the_latest_is_there_however_long(times, letter, tmp_path):
    make, long = Maker(), f" {letter * 9}" * times
    records = []
    for number in range(4):
        records += [
            make.prompt(f"Always do {number}.{long}"),
            make.answer(f"Did {number}.{long}"),
            *make.run(number, f"make {number}{long}", f"error: {number}{long}", failed=True),
            make.call("Read", f"r{number}", {"file_path": f"/p/{number}.py"}),
            make.result(f"r{number}"),
            *make.compaction(f"Summary {number}{long}"),
        ]
    text = digest_of(tmp_path, records)
    assert len(text.encode()) <= DIGEST_BYTES_MAX
    for title in SHARES:
        assert f"\n{title}:\n" in text
    for latest in ("Always do 3", "Did 3", "make 3", "error: 3", "3.py", "Summary 3"):
        assert latest in text


def test_of_many_the_earliest_are_left_out_and_counted(tmp_path):
    make = Maker()
    text = digest_of(tmp_path, [make.prompt(f"Question {n}" + " x" * 200) for n in range(100)])
    assert "- Question 99 " in text
    assert "- Question 0 " not in text
    assert "earlier left out" in text
