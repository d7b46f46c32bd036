"""Calls that are recorded wait in memory while the store is locked, and are all written once."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest

from ctxmode.operations import session_calls
from ctxmode.operations.session_calls import SessionCalls
from ctxmode.operations.session_choice import STORE_WAIT_S, catch_up
from ctxmode.operations.session_store import open_session_store
from memory.errors import MemoryRoomError

HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""
CLIENT = "some-editor"


@contextmanager
def locked(path):
    """Another process that holds the store's write lock."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout.readline() == b"held\n"
        yield
    finally:
        holder.communicate(timeout=30)


@pytest.fixture
def calls(config):
    """Calls of a project whose store was written to before."""
    made = SessionCalls(str(config.project))
    with open_session_store(config.sessions_file, str(config.project), str(config.home)) as store:
        call(made, 0)
        made.write(store)
    return made


def call(calls, number, owner="", error=""):
    code = {"language": "shell", "code": f"make {number}"}
    calls.add(CLIENT, owner, "ctx_execute", code, error)


def written(config, category="command"):
    with closing(sqlite3.connect(config.sessions_file)) as db:
        sql = "SELECT text FROM event WHERE category = ? ORDER BY id"
        return [text for (text,) in db.execute(sql, (category,))]


def open_briefly(config):
    return open_session_store(
        config.sessions_file, str(config.project), str(config.home), wait_s=STORE_WAIT_S
    )


def test_calls_wait_while_another_process_holds_the_lock_and_are_written_in_order(config, calls):
    with locked(config.sessions_file):
        for number in range(1, 6):
            call(calls, number)
            with pytest.raises(MemoryRoomError), open_briefly(config) as store:
                calls.write(store)
            catch_up(config, calls, CLIENT)  # an answer goes without
            assert len(calls.waiting) == number
        assert written(config) == ["make 0"]
    catch_up(config, calls, CLIENT)
    assert calls.waiting == []
    assert written(config) == [f"make {number}" for number in range(6)]
    catch_up(config, calls, CLIENT)
    assert len(written(config)) == 6


def test_a_store_that_is_locked_between_two_sessions_has_none_of_their_calls_twice(
    config, calls, monkeypatch
):
    for number in range(1, 5):
        call(calls, number, owner=f"owner{number % 2}", error="no" if number == 4 else "")
    with open_briefly(config) as store:
        saved = store.record
        done = []

        def record(*given, **named):
            if done:
                with locked(config.sessions_file):
                    return saved(*given, **named)
            done.append(saved(*given, **named))
            return done[0]

        monkeypatch.setattr(store, "record", record)
        with pytest.raises(MemoryRoomError):
            calls.write(store)
    assert len(calls.waiting) == 4
    catch_up(config, calls, CLIENT)
    assert sorted(written(config)) == [f"make {number}" for number in range(5)]
    assert written(config, "error") == ["no"]
    assert calls.waiting == []


def test_calls_are_told_apart_though_the_clock_stands_still(config, calls, monkeypatch):
    monkeypatch.setattr(session_calls.time, "time", lambda: 1e9)
    for number in range(1, 4):
        call(calls, number)
    catch_up(config, calls, CLIENT)
    assert written(config) == [f"make {number}" for number in range(4)]


def test_what_comes_while_calls_are_written_stays_even_where_the_oldest_go(
    config, calls, monkeypatch
):
    monkeypatch.setattr(session_calls, "WAITING_MAX", 3)
    for number in range(1, 4):
        call(calls, number)
    with open_briefly(config) as store:
        saved = store.record

        def record(*given, **named):
            monkeypatch.setattr(store, "record", saved)
            call(calls, 4)
            return saved(*given, **named)

        monkeypatch.setattr(store, "record", record)
        calls.write(store)
    assert len(calls.waiting) == 1
    catch_up(config, calls, CLIENT)
    assert written(config) == [f"make {number}" for number in range(5)]


def test_of_too_many_that_wait_the_oldest_are_not_recorded(config, calls, monkeypatch):
    monkeypatch.setattr(session_calls, "WAITING_MAX", 3)
    with locked(config.sessions_file):
        for number in range(1, 6):
            call(calls, number)
            catch_up(config, calls, CLIENT)
    catch_up(config, calls, CLIENT)
    assert written(config) == ["make 0", "make 3", "make 4", "make 5"]
