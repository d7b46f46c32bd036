"""A front: what it sends and what stays, and how a run ends whatever is lost on its way."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import partial

import pytest
import trio

import policy
from executor import Caller
from executor.model import Request, RequestError, Status
from fleet.cluster import Fallback, Send
from fleet.journal import JournalError
from fleet.model import Cause
from fleet.turns import Quota
from policy import Decision
from policy.model import Rule, RuleSource
from tests.fleet.fronts_kit import WORD, open_front, until
from tests.fleet.memory_engine import MemoryEngine

ECHO = Request("shell", code="echo here")
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def deny_rm() -> policy.Rules:
    source = RuleSource("test")
    return policy.Rules((Rule("1", "command", "rm", "rm *", Decision.DENY, source),))


async def test_a_run_is_done_by_a_worker_and_its_result_names_it(tmp_path):
    async with open_front(tmp_path) as front:
        completed = await front.local.run(ECHO)
        (order,) = front.worker.done
    result = completed.result
    assert (result.status, result.stdout.text, result.worker) == (Status.OK, WORD, "far")
    assert (order.owner, order.project) == ("project", str(tmp_path / "project"))
    assert dict(front.fleet.figures.done) == {"project": 1}
    assert front.fleet.figures.bytes_back > 0


async def test_paths_of_a_request_are_sent_relative_to_the_project(tmp_path):
    async with open_front(tmp_path) as front:
        folder = front.project / "sub"
        folder.mkdir()
        (folder / "prog.sh").write_text("echo hi")
        request = Request(
            "shell", path=str(folder / "prog.sh"), cwd=str(folder), bind_file="../data.txt"
        )
        await front.local.run(request)
        (order,) = front.worker.done
    sent = order.request
    assert (sent.path, sent.cwd, sent.bind_file) == ("prog.sh", "sub", "../data.txt")


async def test_what_a_rule_denies_is_refused_here_and_never_sent(tmp_path):
    async with open_front(tmp_path, rules=deny_rm) as front:
        refused = await front.local.run(Request("shell", code="rm data.txt"))
        allowed = await front.local.run(ECHO)
        assert [order.request.code for order in front.worker.done] == [ECHO.code]
    assert (refused.result.status, allowed.result.status) == (Status.DENIED, Status.OK)


async def test_with_room_here_only_what_has_to_wait_is_sent(tmp_path):
    async with open_front(tmp_path, send=Send.OVERFLOW) as front, trio.open_nursery() as nursery:
        alone = await front.local.run(ECHO)
        begun = trio.Event()
        long = Request("shell", code="sleep 60")
        nursery.start_soon(_run, front.local, long, begun)
        await begun.wait()
        beside = await front.local.run(ECHO)
        nursery.cancel_scope.cancel()
    assert (alone.result.stdout.text, alone.result.worker) == ("here\n", None)
    assert (beside.result.stdout.text, beside.result.worker) == (WORD, "far")


async def _run(engine, request: Request, begun: trio.Event) -> None:
    await engine.run(request, observe=lambda _: begun.set())


STAYS = {
    "a session": (replace(ECHO, session="s"), "a session stays on one machine"),
    "a variable's value": (replace(ECHO, env={"X": TOKEN}), "env X holds"),
    "a variable's name": (replace(ECHO, env={"DB_PASSWORD": "x"}), "env DB_PASSWORD"),
    "stdin": (replace(ECHO, stdin=TOKEN.encode()), "stdin holds"),
    "the code": (Request("shell", code=f"echo {TOKEN}"), "the code holds"),
    "a file": (replace(ECHO, files={"a.txt": TOKEN.encode()}), "file a.txt holds"),
}


@pytest.mark.parametrize(("request_", "reason"), STAYS.values(), ids=STAYS)
async def test_what_cannot_travel_is_refused_where_all_is_to_be_sent(tmp_path, request_, reason):
    async with open_front(tmp_path) as front:
        with pytest.raises(RequestError, match=reason) as caught:
            await front.local.run(request_)
        assert front.worker.done == []
        assert not any(TOKEN.encode() in blob for blob in front.engine.kept.values())
    assert "overflow" in caught.value.hint


async def test_what_cannot_travel_is_done_here_else_and_said_once(tmp_path):
    async with open_front(tmp_path, send=Send.OVERFLOW) as front, trio.open_nursery() as nursery:
        begun = trio.Event()
        nursery.start_soon(_run, front.local, Request("shell", code="sleep 60"), begun)
        await begun.wait()
        for _ in range(2):
            completed = await front.local.run(
                replace(ECHO, env={"DB_PASSWORD": "x"}, background=True)
            )
            assert completed.result.worker is None
        notices = front.fleet.notices
        nursery.cancel_scope.cancel()
    assert len(notices) == 1
    assert "run on this machine" in notices[0]
    assert dict(front.fleet.figures.kept_here) == {"project": 2}


async def test_secrets_travel_where_a_person_says_so(tmp_path):
    async with open_front(tmp_path, sends_secrets=True) as front:
        await front.local.run(replace(ECHO, env={"DB_PASSWORD": "x"}))
        assert front.worker.done[0].request.env == {"DB_PASSWORD": "x"}


async def test_while_the_engine_is_silent_runs_fail_where_that_is_set(tmp_path):
    async with open_front(tmp_path, fallback=Fallback.FAIL) as front:
        front.engine.is_silent = True
        completed = await front.local.run(ECHO)
    assert completed.result.status is Status.SANDBOX_UNAVAILABLE
    assert "does not answer: nobody is there" in completed.result.message


@pytest.mark.parametrize("wait_s", [3600, 0.01], ids=["in time", "too late"])
async def test_runs_wait_for_a_silent_engine_where_that_is_set(tmp_path, wait_s):
    ended = []
    async with (
        open_front(tmp_path, fallback=Fallback.WAIT, wait_s=wait_s) as front,
        trio.open_nursery() as nursery,
    ):
        await front.local.run(ECHO)  # it is open
        front.engine.is_silent = True

        async def run() -> None:
            ended.append(await front.local.run(ECHO))

        nursery.start_soon(run)
        await until(lambda: front.engine.asked_in_vain)
        front.engine.is_silent = wait_s < 1
        await until(lambda: ended)
    expected = (Status.OK, "far") if wait_s > 1 else (Status.SANDBOX_UNAVAILABLE, None)
    assert (ended[0].result.status, ended[0].result.worker) == expected


async def test_while_the_engine_is_silent_runs_are_done_here(tmp_path):
    async with open_front(tmp_path) as front:
        front.engine.is_silent = True
        completed = await front.local.run(ECHO)
    assert (completed.result.stdout.text, completed.result.worker) == ("here\n", None)
    assert "nobody is there" in front.fleet.notices[0]


async def test_a_run_whose_observer_fails_is_over_and_no_other_front_does_it(tmp_path):
    def fail(_: object) -> None:
        raise ZeroDivisionError

    async with open_front(tmp_path) as front:
        with pytest.raises(ZeroDivisionError):
            await front.local.run(ECHO, observe=fail)
        assert front.fleet.turns.waiting() == front.fleet.turns.running() == {}
        await front.local.run(ECHO)
    with closing(sqlite3.connect(next(front.folder.glob("*.sqlite3")))) as db:
        assert db.execute("SELECT state FROM run").fetchall() == [("done",), ("done",)]


async def test_a_journal_that_fails_meanwhile_is_told_as_what_it_is(tmp_path, monkeypatch):
    async def fail(_: str) -> None:
        raise JournalError("the disk is full")

    async with open_front(tmp_path) as front:
        front.worker.may_end = trio.Event()
        monkeypatch.setattr(front.fleet.desk.journal, "note_sent", fail)
        with pytest.raises(JournalError, match="the disk is full"):
            await front.local.run(ECHO)
        assert front.fleet.turns.running() == {}


async def test_it_is_said_why_no_worker_begins_a_run_once_for_all(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(
        "fleet.run_dispatch.DELAY_S", 2.0
    )  # five that begin together, also on a busy machine
    async with open_front(tmp_path) as front, trio.open_nursery() as nursery:
        front.worker.may_end = trio.Event()
        front.engine.delay = "there is none"
        sent = []
        for _ in range(5):
            nursery.start_soon(partial(front.local.run, ECHO, observe=sent.append))
        await until(lambda: len(sent) == 5)
        await until(lambda: all("there is none" in run.place for run in sent))
        said = [
            one.getMessage() for one in caplog.records if "has waited for a worker" in one.message
        ]
        front.engine.delay = ""
        await until(lambda: not any("there is none" in run.place for run in sent))
        front.worker.may_end.set()
    assert len(said) == 1
    assert said[0].endswith("s: there is none")


LOSSES = {
    "a worker": [Cause.WORKER],
    "two workers": [Cause.WORKER] * 2,
    "the engine, often": [Cause.ENGINE] * 4,
    "a blob": [Cause.BLOB],
}


@pytest.mark.parametrize("losses", LOSSES.values(), ids=LOSSES)
async def test_what_is_lost_is_done_again_and_has_one_outcome(tmp_path, losses):
    async with open_front(tmp_path) as front:
        front.engine.losses = list(losses)
        completed = await front.local.run(ECHO)
        assert len(front.engine.submitted) == len(losses) + 1
    assert (completed.result.stdout.text, completed.result.worker) == (WORD, "far")
    assert dict(front.fleet.figures.lost) == {"project": len(losses)}
    assert dict(front.fleet.figures.done) == {"project": 1}


async def test_a_run_that_loses_three_workers_is_given_up(tmp_path):
    async with open_front(tmp_path) as front:
        front.engine.losses = [Cause.WORKER] * 9
        completed = await front.local.run(ECHO)
        assert len(front.engine.submitted) == 3
    assert completed.result.status is Status.SANDBOX_ERROR
    assert "its worker was lost 3 times: as the test says" in completed.result.message


async def test_files_that_the_engine_lost_are_sent_again(tmp_path):
    async with open_front(tmp_path) as front:
        await front.local.run(ECHO)
        front.engine.kept.clear()
        again = await front.local.run(ECHO)
        assert any(blob == b"some data\n" for blob in front.engine.kept.values())
    assert again.result.worker == "far"


def _say_another_run(files: dict[str, bytes]) -> dict[str, bytes]:
    other = files["outcome.json"].replace(b'"run_id":"', b'"run_id":"0')
    return {**files, "outcome.json": other}


LIES = {
    "another run's outcome": _say_another_run,
    "no outcome": lambda files: {**files, "outcome.json": b"[]"},
    "a file that is none of ours": lambda files: {**files, "x": b""},
    "a name that leads elsewhere": lambda files: {**files, "artifacts/../../x": b""},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
async def test_a_worker_that_lies_has_lost_the_run(tmp_path, lie):
    async with open_front(tmp_path) as front:
        front.engine.lies = lie
        completed = await front.local.run(ECHO)
    assert completed.result.status is Status.SANDBOX_ERROR
    assert "was lost 3 times: its answer" in completed.result.message


async def test_cancelling_ends_a_run_at_the_engine(tmp_path):
    async with open_front(tmp_path) as front:
        front.worker.may_end = trio.Event()
        with trio.move_on_after(30) as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(front.local.run, ECHO)
                await until(lambda: front.worker.done)
                scope.cancel()
        assert front.engine.cancelled == [front.worker.done[0].run_id]
        assert (front.fleet.turns.waiting(), front.fleet.turns.running()) == ({}, {})


async def test_a_run_in_the_background_can_be_stopped(tmp_path):
    ended, watched = [], []
    async with open_front(tmp_path) as front, trio.open_nursery() as nursery:
        front.worker.may_end = trio.Event()

        async def run() -> None:
            ended.append(await front.local.run(ECHO, observe=watched.append))

        nursery.start_soon(run)
        await until(lambda: front.worker.done)
        await watched[0].stop(Status.CANCELLED)
        await until(lambda: ended)
    assert ended[0].result.status is Status.CANCELLED
    assert front.engine.cancelled == [front.worker.done[0].run_id]


async def test_owners_queues_are_bounded_and_say_when_to_try_again(tmp_path):
    owners = {"ci": Quota(running=1, queued=1)}
    async with open_front(tmp_path, owners=owners) as front, trio.open_nursery() as nursery:
        front.worker.may_end = trio.Event()

        async def send() -> None:
            await front.local.run(ECHO, caller=Caller(holder="ci"))

        nursery.start_soon(send)
        await until(lambda: front.fleet.turns.running().get("ci") and front.worker.done)
        nursery.start_soon(send)
        await until(lambda: front.fleet.turns.waiting().get("ci"))
        with pytest.raises(RequestError, match=r"1 runs of 'ci' wait.*try again in"):
            await front.local.run(ECHO, caller=Caller(holder="ci"))
        front.worker.may_end.set()
    assert dict(front.fleet.figures.done) == {"ci": 2}


async def test_what_a_dead_front_left_is_brought_to_its_end_and_kept(tmp_path):
    engine = MemoryEngine(tmp_path / "out")
    async with open_front(tmp_path, engine=engine) as first:
        first.worker.may_end = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first.local.run, ECHO)
            await until(lambda: first.worker.done and "sent" in _rows(first.folder)[0])
            rows = _rows(first.folder)
            nursery.cancel_scope.cancel()
    _put_back(first.folder, rows)  # as if it had died at that moment
    async with open_front(tmp_path, engine=engine) as second:
        await until(lambda: second.kept)
        ((request, completed),) = second.kept
    assert (request.code, completed.result.stdout.text) == (ECHO.code, WORD)
    assert len(engine.submitted) == 1  # it was joined


def _rows(folder) -> list[tuple]:
    (path,) = folder.glob("*.sqlite3")
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT * FROM run").fetchall()


def _put_back(folder, rows: list[tuple]) -> None:
    (path,) = folder.glob("*.sqlite3")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM run")
        marks = ",".join("?" * len(rows[0]))
        db.executemany(f"INSERT INTO run VALUES({marks})", rows)


@pytest.mark.parametrize("times", [2, 3])
async def test_a_project_that_changes_while_it_is_read_is_read_again(tmp_path, times):
    async with open_front(tmp_path) as front:
        front.engine.changes = times
        health = await front.fleet.examine()
        assert front.engine.changes == 0
        front.engine.changes = times
        if times < 3:
            assert "the trial run ended ok" in health.reason  # this worker says another word
            (front.project / "new.txt").write_text("new")
            assert (await front.local.run(ECHO)).result.worker == "far"
        else:
            assert "the project changes while it is read" in health.reason
            assert "cluster.leave_out" in health.remedy
            with pytest.raises(RequestError, match="the project changes while it is read"):
                await front.local.run(ECHO)


async def test_trying_a_fleet_says_what_works(tmp_path):
    async with open_front(tmp_path) as front:
        told = await front.fleet.examine()
        front.engine.is_silent = True
        silent = await front.fleet.examine()
    assert (silent.keeps_blobs, silent.runs, silent.reason) == (False, False, "nobody is there")
    assert (told.answers, told.keeps_blobs) == (True, True)
    assert "the trial run ended ok" in told.reason  # this worker says another word


async def test_a_connection_that_failed_is_not_tried_by_each_run_anew(tmp_path):
    async with open_front(tmp_path) as front:
        front.engine.is_silent = True
        await front.local.run(ECHO)
        front.engine.is_silent = False
        assert (await front.local.run(ECHO)).result.worker is None
