"""The stores of all projects: listed, looked into, and left as they are."""

import hashlib
import sqlite3
from contextlib import closing

import pytest

from ctxmode.errors import UsageError
from ctxmode.operations import sessions
from ctxmode.operations.quotas import read_holdings
from ctxmode.operations.session_store import USER_STORE, open_session_store
from kb.all_stores import keep_to_quota
from memory.errors import ReadOnlyError
from memory.sessions.maintenance import Summary
from memory.sessions.records import MessageRecord, SessionRecord
from tests.ctxmode.projects import answer, prompt

HERE = "aaaa0000-0000-4000-8000-000000000001"
THERE = "bbbb0000-0000-4000-8000-000000000002"
ALIKE = "aaaa1111-0000-4000-8000-000000000003"


@pytest.fixture
def two(user):
    """A project `here` with one session, and `there` with two; its configuration."""
    user.track("here", HERE, prompt("Mend the parser."), answer("Done."))
    user.track("there", THERE, prompt("Paint the shed."), answer("Painted."))
    user.track("there", ALIKE, prompt("Sweep the yard."))
    return user.config("here")


def write_own(config, *ids):
    """Write sessions without a project into the user's own store."""
    path = config.sessions_file.with_name(USER_STORE)
    with open_session_store(path, "", str(config.home)) as store:
        for one in ids:
            asked = MessageRecord("1", "1", "user", "What is a monad?", 1.0, is_prompt=True)
            records = [SessionRecord(one, title="Monads"), asked]
            store.record("chatgpt", records, is_imported=True)
    return path


def digests(config, *, but=()):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in config.sessions_file.parent.glob("*.sqlite3")
        if path not in but
    }


def test_only_sessions_of_the_project_and_the_users_own_are_listed(two):
    write_own(two, "c1")
    ids = {one.host_id for one in sessions.list_sessions(two)}
    assert ids == {HERE, "c1"}
    everywhere, left_out = sessions.list_everywhere(two)
    assert [one.host_id for one in everywhere] == [ALIKE, THERE, HERE, "c1"]
    assert left_out == ()


def test_a_session_is_found_where_it_lies(two):
    own = write_own(two, "c1")
    assert sessions.find_holding_store(two, HERE)[0] == two.sessions_file
    assert sessions.find_holding_store(two, "c1")[0] == own
    with pytest.raises(UsageError, match=f"no session '{THERE}'\n.*{HERE}"):
        sessions.find_holding_store(two, THERE)
    path, found = sessions.find_holding_store(two, "bbbb", everywhere=True)
    assert path not in (own, two.sessions_file)
    assert found.title == "Paint the shed."


def test_an_id_that_several_stores_know_names_all_candidates(two):
    assert sessions.find_holding_store(two, "aaaa")[1].host_id == HERE
    with pytest.raises(UsageError, match="several sessions match") as raised:
        sessions.find_holding_store(two, "aaaa", everywhere=True)
    assert HERE in str(raised.value)
    assert ALIKE in str(raised.value)
    # An exact id goes before the beginning of another, whatever store has it.
    assert sessions.find_holding_store(two, ALIKE, everywhere=True)[1].host_id == ALIKE


def test_a_session_that_two_stores_hold_is_one(two, user):
    other = user.config("there").sessions_file
    with open_session_store(other, "", str(two.home)) as store:
        store.record("claude_code", [SessionRecord(HERE, title="moved")])
    found, _ = sessions.list_everywhere(two)
    assert [one.title for one in found if one.host_id == HERE] == ["Mend the parser."]
    path, session = sessions.find_holding_store(two, HERE, everywhere=True)
    assert (path, session.title) == (two.sessions_file, "Mend the parser.")


@pytest.mark.parametrize("wanted", ["nothing", "\udcff", "%", "' OR 1=1 --", "x" * 100_000])
def test_an_id_that_means_none_is_told_with_the_latest(two, wanted):
    with pytest.raises(UsageError, match=HERE):
        sessions.find_holding_store(two, wanted)


def test_stores_of_others_are_left_as_they_are(two, user):
    other = user.config("there").sessions_file
    folder = other.parent
    (folder / "damaged-000000000000.sessions.sqlite3").write_bytes(b"no database " * 1000)
    (folder / "empty-000000000000.sessions.sqlite3").write_bytes(b"")
    (folder / "link-000000000000.sessions.sqlite3").symlink_to("/etc/passwd")
    with closing(sqlite3.connect(folder / "later-000000000000.sessions.sqlite3")) as later:
        later.execute("CREATE TABLE session (id)")
        later.execute("PRAGMA user_version = 999")
    with closing(sqlite3.connect(other)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = digests(two, but=[two.sessions_file])
    listed, left_out = sessions.list_everywhere(two)
    assert {one.host_id for one in listed} == {HERE, THERE, ALIKE}
    told = "\n".join(left_out)
    assert len(left_out) == 3
    for name, reason in (("damaged", "not a database"), ("empty", "earlier"), ("later", "999")):
        (line,) = (one for one in told.splitlines() if f"/{name}-" in one)
        assert reason in line
    assert digests(two, but=[two.sessions_file]) == before
    with pytest.raises(UsageError, match=r"Not read: .*damaged"):
        sessions.find_holding_store(two, "zzz", everywhere=True)
    with (
        sessions.open_holding_store(two, THERE, everywhere=True) as (store, session),
        pytest.raises(ReadOnlyError),
    ):
        store.save_summary(session.id, Summary("x"))


def test_the_quota_of_all_projects_passes_stores_of_sessions_over(two):
    assert list(keep_to_quota(two.sessions_file.parent, quota=1)) == []
    assert read_holdings(two).projects == 0
    assert sessions.list_everywhere(two)[1] == ()


def test_what_is_not_reached_in_time_is_said(two):
    found, left_out = sessions.gather(two, lambda db: None, everywhere=True, wait_s=0)
    assert found == {}
    assert len(left_out) == 2
    assert "not reached within 0 s" in left_out[0]


def test_a_look_that_takes_too_long_is_ended(two):
    def count(db):
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        return db.execute(f"{endless} SELECT COUNT(*) FROM n").fetchone()

    found, left_out = sessions.gather(two, count, everywhere=True, wait_s=0.2)
    assert found == {}
    assert "not read within" in left_out[0]


def test_without_any_store_it_is_said_how_to_begin(user):
    with pytest.raises(UsageError, match="sessions track"):
        sessions.find_holding_store(user.config("here"), "x")
    assert not user.config("here").sessions_file.exists()
