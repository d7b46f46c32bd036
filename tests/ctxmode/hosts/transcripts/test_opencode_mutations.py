"""Broken rows and values of OpenCode's database: no exception, no hang, and the same rows of ours
however the reading is parted or begun anew."""

from __future__ import annotations

import json
import random
import sqlite3

import pytest

from ctxmode.hosts.opencode import rows as opencode_rows
from memory.sessions import importing
from tests.ctxmode.hosts.transcripts.opencode_database import Host, bring_in, tokens, tool
from tests.ctxmode.hosts.transcripts.test_mutations import ODD as JSON_ODD
from tests.ctxmode.hosts.transcripts.test_mutations import drop_field, nest, swap_types
from tests.memory.sessions.claude_records import dump, open_store, problems_of

MUTANTS, MUTANTS_LONG = 4, 100
READINGS_MAX = 500
VALUES = [None, 0, -1, 2**62, -(2**62), 1.5, float("inf"), "", "x", "\0", "x" * 9000, b"",
          b"\xff\xfe", "ses_one", "ses_two", "msg_000003", "[]", "{}", "null", '{"type": "text"}',
          "[" * 100_000]  # fmt: skip
COLUMNS = [(table, one) for table, columns in opencode_rows.TABLES.items() for one in columns]


def fill(host):
    """Write two sessions with all that the reader knows, and one of another project."""
    one, two = host.session("one"), host.session("two", parent="ses_one")
    other = host.session("other", "/elsewhere")
    for session in (one, other, two):
        for turn in range(3):
            host.prompt(session, f"Always keep file {turn} small.")
            path = f"/p/{turn}.py"
            host.answer(
                session,
                {"type": "reasoning", "text": "Hm.", "time": {"end": host.moment}},
                "I look.",
                tool("write", {"filePath": path}, call=f"w{turn}", metadata={"filepath": path}),
                tool("bash", {"command": f"make {turn}"}, call=f"b{turn}", metadata={"exit": turn}),
                tokens=tokens(100, turn + 1, 50, 3, 2),
            )
    asked = host.message(one, {"role": "user"})
    host.part(one, asked, {"type": "compaction", "auto": True})
    host.answer(one, "What was done.", summary=True, parentID=asked)
    host.prompt(one, "Go on.")
    host.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def pick(chance, host, table):
    return chance.choice(host.db.execute(f"SELECT rowid, * FROM {table}").fetchall())[0]


def odd_columns(chance, host):
    """Put values of any type into columns."""
    for _ in range(chance.randrange(1, 8)):
        table, column = chance.choice(COLUMNS)
        row = pick(chance, host, table)
        set_column(host, table, column, row, chance.choice(VALUES))


def set_column(host, table, column, row, value):
    try:
        host.db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row))
    except sqlite3.Error:  # the host itself cannot write that
        return


def change_data(chance, host, mutations):
    for _ in range(chance.randrange(1, 8)):
        table = chance.choice(["message", "part"])
        row = pick(chance, host, table)
        (data,) = host.db.execute(f"SELECT data FROM {table} WHERE rowid = ?", (row,)).fetchone()
        if isinstance(data, str) and data.startswith("{"):
            set_column(host, table, "data", row, chance.choice(mutations)(chance, data))


def odd_json(chance, host):
    """Put values of other types in place of some in the rows' JSON, and drop others."""

    def by_line(mutate):
        def change(chance, data):
            try:
                return mutate(chance, [data.encode()])[0].decode()
            except (ValueError, IndexError, RecursionError):  # another mutation broke it already
                return data

        return change

    change_data(chance, host, [by_line(one) for one in (swap_types, drop_field, nest)])


def torn_json(chance, host):
    def cut(chance, data):
        return data[: chance.randrange(len(data))]

    def flip(chance, data):
        raw = bytearray(data.encode())
        for _ in range(chance.randrange(1, 9)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        return bytes(raw)

    def text(chance, data):
        return json.dumps(chance.choice(JSON_ODD))

    change_data(chance, host, [cut, flip, text])


def lost_rows(chance, host):
    for _ in range(chance.randrange(1, 6)):
        table = chance.choice(["message", "part", "part", "session"])
        if host.db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] > 1:
            row = pick(chance, host, table)
            host.db.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))


def moved_rows(chance, host):
    """Give rows to other messages and sessions, and copy some."""
    for _ in range(chance.randrange(1, 6)):
        row = pick(chance, host, "part")
        message = host.db.execute("SELECT id, session_id FROM message").fetchall()
        id_, session = chance.choice(message)
        set_column(host, "part", "message_id", row, id_)
        if chance.random() < 0.5:
            set_column(host, "part", "session_id", row, session)
        columns = "message_id, session_id, time_created, time_updated, data"
        host.db.execute(
            f"INSERT INTO part (id, {columns}) SELECT ?, {columns} FROM part WHERE rowid = ?",
            (f"prt_copy{chance.random()}", row),
        )


MUTATIONS = [odd_columns, odd_json, torn_json, lost_rows, moved_rows]


def open_one(folder, name):
    return open_store(folder / name, keep_messages=True, belongs=lambda path: path.startswith("/p"))


def read_parted(folder, host, chance):
    """Read a transaction or a few at a time, each time in a store that is opened anew."""
    for _ in range(READINGS_MAX):
        with open_one(folder, "parts.sqlite3") as store:
            for _ in range(chance.randrange(1, 5)):
                if not bring_in(store, host, deadline=0.0).behind:
                    return
    pytest.fail("the reading does not end")


@pytest.mark.parametrize("mutate", MUTATIONS)
def test_a_broken_database_is_read_as_far_as_it_goes_and_alike(
    mutate, tmp_path, is_long, monkeypatch
):
    known = 0
    for seed in range(MUTANTS_LONG if is_long else MUTANTS):
        chance = random.Random(f"{mutate.__name__} {seed}")
        folder = tmp_path / str(seed)
        folder.mkdir()
        host = Host(folder / "opencode.db")
        fill(host)
        mutate(chance, host)
        if chance.random() < 0.3:
            chance.choice(MUTATIONS)(chance, host)
        with open_one(folder, "whole.sqlite3") as store:
            assert bring_in(store, host).problem == "", seed
            whole = dump(store)
            assert problems_of(store) == []
            bring_in(store, host)  # read twice
            assert dump(store) == whole, seed
        known += bool(whole["message"])
        with monkeypatch.context() as patch:
            patch.setattr(importing, "BATCH_S", 0.0)
            read_parted(folder, host, chance)
        with open_one(folder, "parts.sqlite3") as store:
            assert dump(store) == whole, seed
            assert problems_of(store) == []
        host.db.close()
    assert known > seed // 3  # the positive control: mutants are read
