"""R3: the least important goes first, of equals the oldest, whatever the order of events."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from memory.sessions.event_writing import EVENTS_MAX, evict_events
from memory.sessions.records import MessageRecord, SessionRecord
from memory.sessions.session_rows import create_tables
from tests.memory.sessions.claude_records import open_store, rows

SEQUENCES = 1500
SEQUENCES_LONG = 100_000


def open_db():
    db = sqlite3.connect(":memory:", isolation_level=None)
    create_tables(db)
    for session in ("a", "other"):
        db.execute(
            "INSERT INTO session (id, agent, host_id, created_at, updated_at)"
            " VALUES (?, '', '', 0, 0)",
            (session,),
        )
    return db


def add(db, number, priority, session="a"):
    db.execute(
        "INSERT INTO event (session_id, turn, category, priority, text, key)"
        " VALUES (?, 0, '', ?, ?, ?)",
        (session, priority, str(number), str(number).encode()),
    )


def kept(db, session="a"):
    sql = "SELECT CAST(text AS INTEGER), priority FROM event WHERE session_id = ? ORDER BY id"
    return [tuple(row) for row in db.execute(sql, (session,))]


def try_sequence(db, steps, bound):
    """Run steps beside a model of them: a priority adds an event, 0 evicts, -1 closes an error."""
    model: list[tuple[int, int]] = []
    for number, step in enumerate([*steps, 0]):
        if step > 0:
            add(db, number, step)
            model.append((number, step))
        elif step < 0:
            db.execute("UPDATE event SET priority = 2 WHERE session_id = 'a' AND priority = 1")
            model = [(n, 2 if p == 1 else p) for n, p in model]
        else:
            before = list(model)
            while len(model) > bound:
                worst = max(priority for _, priority in model)
                model.remove(next(one for one in model if one[1] == worst))
            assert evict_events(db, "a", bound) == len(model)
            assert kept(db) == model
            gone = [one for one in before if one not in model]
            assert all(g[1] >= k[1] for g in gone for k in model)  # none while a higher remains
            assert all(g[0] < k[0] for g in gone for k in model if g[1] == k[1])  # FIFO
    db.execute("DELETE FROM event WHERE session_id = 'a'")


def test_r3_random_sequences_are_evicted_as_the_model_says(is_long):
    chance = random.Random(20_26)
    with closing(open_db()) as db:
        add(db, 1, 4, "other")
        for _ in range(SEQUENCES_LONG if is_long else SEQUENCES):
            bound = chance.randrange(9)
            steps = chance.choices((1, 2, 3, 4, 0, -1), (3, 3, 3, 3, 3, 1), k=chance.randrange(25))
            try_sequence(db, steps, bound)
        assert kept(db, "other") == [(1, 4)]  # another session's are its own


@given(st.lists(st.integers(-1, 4), max_size=40), st.integers(0, 12))
def test_r3_whatever_the_sequence_the_model_holds(steps, bound):
    with closing(open_db()) as db:
        try_sequence(db, steps, bound)


def test_r3_a_session_never_has_more_than_a_thousand(tmp_path):
    with open_store(tmp_path / "s.sqlite3") as store:
        records = [SessionRecord("a")]
        for n in range(EVENTS_MAX + 300):
            prompt = n % 3 == 0
            kind = {"is_prompt": True, "text": f"hello {n}"} if prompt else {"tool": f"odd{n}"}
            role = "user" if prompt else "tool_call"
            records.append(MessageRecord(f"k{n}", f"k{n}", role, at=float(n), **kind))
        store.record("own", records)
        found = rows(store, "SELECT priority, text FROM event ORDER BY id")
    assert len(found) == EVENTS_MAX
    assert sum(priority == 1 for priority, _ in found) == (EVENTS_MAX + 300 + 2) // 3
    tools = [text for priority, text in found if priority == 4]
    assert tools == [f"odd{n}" for n in range(EVENTS_MAX + 300) if n % 3][-len(tools) :]
