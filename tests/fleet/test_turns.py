"""Owners take turns by weight, within quotas and a window, whoever asked first."""

from __future__ import annotations

import math
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from fleet.journal import Journal
from fleet.turns import (
    DAY_S,
    RETRY_S_MAX,
    RETRY_S_MIN,
    RETRY_S_UNKNOWN,
    Quota,
    Turns,
    estimate_retry_s,
)
from tests.fleet.journals import count
from tests.fleet.simulation import Load, simulate

WORKERS = 8


def filled(turns: Turns, **counts: int) -> Turns:
    for owner, runs in counts.items():
        for number in range(runs):
            turns.add(f"{owner}{number}", owner, 0.0)
    return turns


def take(turns: Turns, count: int, now_s: float = 0.0) -> list[str]:
    return [run for run in (turns.take(now_s) for _ in range(count)) if run is not None]


def owners(runs: list[str]) -> str:
    return "".join(run[0] for run in runs)


# Beside 10,000 runs of another, in multiples of the time that its 20 runs take alone.
@pytest.mark.parametrize(
    ("each_s", "others_each_s", "at_once"),
    [
        *((1.0, 1.0, WORKERS), (1.0, 1.0, 2 * WORKERS), (1.0, 1.0, 8 * WORKERS)),
        *((0.2, 0.2, WORKERS), (0.2, 0.2, 8 * WORKERS), (1.0, 0.2, 8 * WORKERS)),
        (1.0, 10.0, WORKERS),
    ],
)
@pytest.mark.parametrize("at_s", [0.0, 5.3, 50.7])
def test_twenty_runs_behind_ten_thousand_take_at_most_five_times_as_long(
    each_s, others_each_s, at_once, at_s
):
    few = Load("few", 20, each_s, at_s)
    alone = simulate(Turns(at_once), [few], WORKERS).took_s(few)
    many = Load("many", 10_000, others_each_s)
    beside = simulate(Turns(at_once), [many, few], WORKERS, until_s=at_s + 60)
    assert len(beside.ended_s["few"]) == 20
    assert beside.took_s(few) <= 5 * alone


async def test_turns_hold_for_what_a_front_finds_in_its_journal(tmp_path):
    few, many = ["few"] * 20, ["many"] * 10_000
    alone = await rounds_for_few(tmp_path / "alone", few)
    assert alone == 3  # of 8 runs
    assert await rounds_for_few(tmp_path / "beside", many + few) <= 5 * alone


async def rounds_for_few(path: Path, asking: list[str]) -> int:
    """In how many rounds of the workers all runs of `few` end, at a front that starts again."""
    with closing(Journal(path, "dead")) as journal:
        async with trio.open_nursery() as nursery:
            for number, owner in enumerate(asking):
                run = f"{owner} {number:06}"
                nursery.start_soon(journal.accept, run, owner, b"order", 10_000)
    with closing(Journal(path, "next")) as journal:
        turns = Turns(WORKERS)
        for run in await journal.adopt(lambda _: False):
            turns.add(run, run.split()[0], 0.0)
        return await end_few(journal, turns)


async def end_few(journal: Journal, turns: Turns) -> int:
    now_s = 0
    while await left_of(journal, "few"):
        sent = take(turns, WORKERS + 1, float(now_s))
        assert len(sent) <= WORKERS
        now_s += 1
        for run in sent:
            await journal.note_sent(run)
            await journal.finish(run)
            turns.leave(run, float(now_s))
    return now_s


async def left_of(journal: Journal, owner: str) -> int:
    counts = await count(journal)
    return sum(n for (name, state), n in counts.items() if name == owner and state != "done")


def test_the_designs_figures_hold():
    # 8 workers, 0.2 s a run: first come first served, the few would begin after 250 s.
    few, many = Load("few", 20, 0.2), Load("many", 10_000, 0.2)
    first_come = simulate(Turns(WORKERS), [Load("all", 10_020, 0.2)], WORKERS)
    assert min(first_come.began_s["all"][10_000:]) == pytest.approx(250)
    in_turn = simulate(Turns(WORKERS), [many, few], WORKERS)
    assert max(in_turn.began_s["few"]) <= 1.3
    assert max(in_turn.ended_s["many"]) == pytest.approx(10_020 * 0.2 / WORKERS, abs=0.2)


@pytest.mark.parametrize(
    ("at_once", "each_s", "weight"),
    [(1, 1.0, 1), (1, 7.0, 3), (1, 0.1, 0.5), (2, 7.0, 1), (3, 1.0, 3), (8, 0.1, 3), (8, 7.0, 0.5)],
)
def test_time_with_the_engine_is_shared_by_weight_however_long_runs_are(at_once, each_s, weight):
    turns = Turns(at_once, {"a": Quota(weight=weight)})
    until_s = 150 * max(1.0, each_s)
    loads = [Load("a", 12_000, each_s), Load("b", 12_000, 1.0)]
    ended = simulate(turns, loads, at_once, until_s=until_s).ended_s
    a_s, b_s = len(ended["a"]) * each_s, len(ended["b"]) * 1.0
    assert a_s / b_s == pytest.approx(weight, rel=0.1)


def test_weights_hold_among_more_owners_than_fit_the_window():
    names = [f"o{number}" for number in range(40)]
    turns = Turns(4, {"heavy": Quota(weight=10)})
    loads = [Load(name, 500) for name in (*names, "heavy")]
    ended = simulate(turns, loads, 4, until_s=500).ended_s
    assert len(ended["heavy"]) == pytest.approx(10 * 2_000 / 50, rel=0.1)
    assert min(len(ended[name]) for name in names) > 0.8 * 2_000 / 50


def test_an_owners_runs_keep_their_order():
    turns = filled(Turns(100), a=5, b=3)
    taken = take(turns, 8)
    assert owners(taken) == "abababaa"
    assert [run for run in taken if run[0] == "a"] == [f"a{number}" for number in range(5)]


def test_no_more_than_the_window_is_with_the_engine():
    turns = filled(Turns(3), a=5, b=5)
    assert len(take(turns, 10)) == 3
    turns.leave("a0", 1.0)
    assert len(take(turns, 10, 1.0)) == 1
    assert sum(turns.running().values()) == 3
    assert sum(turns.waiting().values()) == 6


def test_an_owner_has_no_more_under_way_than_its_quota():
    turns = filled(Turns(10, {"a": Quota(running=2)}), a=9, b=3)
    assert sorted(owners(take(turns, 10))) == list("aabbb")
    turns.leave("a0", 1.0)
    assert owners(take(turns, 10, 1.0)) == "a"


def test_who_was_away_or_held_back_claims_nothing_for_that_time():
    turns = filled(Turns(2, {"held": Quota(running=1)}), held=5, x=2_000)
    assert sorted(owners(take(turns, 2))) == ["h", "x"]
    running = "x0"
    for second in range(1, 1_000):
        turns.leave(running, float(second))
        (running,) = take(turns, 2, float(second))
    turns.add("new0", "new", 1_000.0)
    turns.leave("held0", 1_000.0)
    turns.leave(running, 1_000.0)
    for number in range(1, 30):
        turns.add(f"new{number}", "new", 1_000.0)
    served = ""
    for second in range(1_000, 1_020):
        for run in (taken := take(turns, 2, float(second))):
            turns.leave(run, second + 1.0)
        served += owners(taken)
    assert served[:10].count("x") >= 2
    assert served[:10].count("n") <= 5


def test_a_day_of_processor_that_is_used_up_ends_at_midnight():
    turns = filled(Turns(1, {"a": Quota(cpu_s_a_day=100)}), a=4)
    noon = 10.5 * DAY_S
    for _ in range(2):
        (run,) = take(turns, 1, noon)
        turns.leave(run, noon, 60.0)
    assert take(turns, 1, noon) == []
    turns.add("b0", "b", noon)
    assert take(turns, 1, noon) == ["b0"]  # nobody else is held back
    turns.leave("b0", noon)
    assert take(turns, 1, 11.0 * DAY_S - 0.1) == []
    assert take(turns, 1, 11.0 * DAY_S) == ["a2"]
    turns.leave("a2", 10.9 * DAY_S, 99.0)  # a clock that is set back gives no second day
    assert take(turns, 1, 10.9 * DAY_S) == ["a3"]
    turns.leave("a3", 10.9 * DAY_S, 1.0)
    turns.add("a4", "a", 10.9 * DAY_S)
    assert take(turns, 1, 10.9 * DAY_S) == take(turns, 1, 11.9 * DAY_S) == []


def test_what_the_journal_has_of_a_day_counts():
    turns = filled(Turns(1, {"a": Quota(cpu_s_a_day=100)}), a=1)
    turns.charge("a", 5.0, 100.0)
    assert take(turns, 1, 5.0) == []


def test_a_lost_run_is_sent_again_before_all_others_of_its_owner():
    turns = filled(Turns(2), a=4)
    assert take(turns, 2) == ["a0", "a1"]
    turns.send_again("a1", 1.0)
    assert take(turns, 2, 1.0) == ["a1"]


def test_a_run_of_a_front_that_died_takes_its_place_beyond_the_window():
    turns = filled(Turns(2), a=2)
    for number in range(3):
        turns.join(f"b{number}", "b", 0.0)
    assert take(turns, 1) == []
    turns.leave("b0", 1.0)
    assert take(turns, 1, 1.0) == []
    turns.leave("b1", 1.0)
    assert take(turns, 2, 1.0) == ["a0"]


def test_a_run_leaves_whether_it_waits_or_is_with_the_engine_and_once():
    turns = filled(Turns(1), a=4)
    assert take(turns, 1) == ["a0"]
    for run in ("a1", "a1", "none"):
        turns.leave(run, 1.0)
    assert (turns.waiting(), turns.running()) == ({"a": 2}, {"a": 1})
    for _ in range(2):
        turns.leave("a0", 1.0)
    assert take(turns, 2, 1.0) == ["a2"]


async def test_a_run_waits_for_its_turn_and_again_where_it_was_lost():
    turns = filled(Turns(1), a=2)
    turns.join("b0", "b", 0.0)
    await turns.wait("b0")  # another front sent it
    begun: list[str] = []

    async def wait(run: str) -> None:
        await turns.wait(run)
        begun.append(run)

    async def begun_by_now() -> list[str]:
        turns.move_on(1.0)
        await trio.testing.wait_all_tasks_blocked()
        return begun

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait, "a0")
        nursery.start_soon(wait, "a1")
        assert await begun_by_now() == []
        turns.leave("b0", 1.0)
        assert await begun_by_now() == ["a0"]
        turns.send_again("a0", 1.0)
        nursery.start_soon(wait, "a0")
        assert await begun_by_now() == ["a0", "a0"]
        turns.leave("a0", 1.0)
        assert await begun_by_now() == ["a0", "a0", "a1"]


def test_nothing_is_remembered_of_owners_without_runs():
    turns = Turns(1)
    for number in range(1_000):
        turns.add("run", f"owner{number}", float(number))
        assert take(turns, 1, float(number)) == ["run"]
        turns.leave("run", number + 0.5)
    assert (turns.waiting(), turns.running()) == ({}, {})
    assert len(turns._owners) <= 2


def test_ten_thousand_waiting_runs_are_no_burden():
    tracemalloc.start()
    try:
        turns = filled(Turns(8), a=10_000)
        assert tracemalloc.get_traced_memory()[0] < 10e6  # bytes
    finally:
        tracemalloc.stop()
    assert turns.waiting() == {"a": 10_000}


@pytest.mark.parametrize("name", ["weight", "running", "queued", "cpu_s_a_day"])
@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_a_quota_that_would_stop_somebody_for_good_is_refused(name, value):
    with pytest.raises(ValueError, match=name):
        Quota(**{name: value})


@pytest.mark.parametrize(
    ("sent_s", "expected"),
    [
        ([], RETRY_S_UNKNOWN),
        ([80.0, 90.0, 100.0, 70.0], 7.5),
        ([100.0, 100.0], RETRY_S_MIN),
        ([-1e6], RETRY_S_MAX),
        ([200.0], RETRY_S_MIN),  # sent later than now, by a clock that was set back
    ],
)
def test_when_to_try_again_follows_how_fast_an_owners_runs_are_sent(sent_s, expected):
    assert estimate_retry_s(sent_s, 100.0) == expected


STEPS = st.lists(
    st.tuples(st.sampled_from("awetj"), st.sampled_from("abc"), st.integers(0, 5)), max_size=80
)


@given(STEPS, st.integers(1, 4))
def test_every_run_is_taken_once_and_none_is_forgotten(steps, at_once):
    turns = Turns(at_once, {"a": Quota(weight=3), "b": Quota(running=1)})
    now_s, waiting, running = 0.0, set(), set()
    for number, (step, owner, later_s) in enumerate(steps):
        now_s += later_s
        if step == "a":
            turns.add(f"{owner}{number}", owner, now_s)
            waiting.add(f"{owner}{number}")
        elif step == "t":
            taken = turns.take(now_s)
            if taken is not None:
                waiting.remove(taken)
                running.add(taken)
        elif step == "w" and waiting:
            run = min(waiting)
            turns.leave(run, now_s)
            waiting.remove(run)
        elif step == "e" and running:
            run = min(running)
            turns.leave(run, now_s, 1.0)
            running.remove(run)
        elif step == "j" and running:
            run = min(running)
            turns.send_again(run, now_s)
            running.remove(run)
            waiting.add(run)
        assert sum(turns.waiting().values()) == len(waiting)
        assert sum(turns.running().values()) == len(running) <= at_once
    while waiting or running:
        now_s += 1
        while (taken := turns.take(now_s)) is not None:
            waiting.remove(taken)
            running.add(taken)
        assert running
        turns.leave(running.pop(), now_s)
