"""Runs in the background: looked at while they last, stopped, bounded, never outliving us."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import trio

from executor import (
    Backgrounds,
    Completed,
    LocalEngine,
    Request,
    RequestError,
    Status,
    open_backgrounds,
)
from executor.sessions.background import ENDED_MAX, RUNNING_MAX
from tests.processes import DEADLINE_S, alive, unique_s, until_alive


async def keep_result(request: Request, completed: Completed) -> Completed:
    del request
    return completed


@pytest.fixture
async def backgrounds(executor: LocalEngine) -> AsyncIterator[Backgrounds[Completed]]:
    async with open_backgrounds(executor, keep_result) as opened:
        yield opened


async def printed(backgrounds: Backgrounds[Completed], handle: str, text: str) -> None:
    """Until a run has printed this."""
    with trio.fail_after(DEADLINE_S):
        while text not in (await backgrounds.look(handle)).stdout.text:  # noqa: ASYNC110
            await trio.sleep(0.01)


async def test_a_run_goes_on_while_its_output_can_be_read(backgrounds):
    started = await backgrounds.start(Request("shell", "echo begun; sleep 0.5; echo end"))
    assert started.running
    await printed(backgrounds, started.id, "begun\n")
    ended = await backgrounds.look(started.id, wait_s=DEADLINE_S)
    assert not ended.running
    result = ended.answer.result
    assert (result.status, result.stdout.text) == (Status.OK, "begun\nend\n")
    assert ended.stdout.text == "begun\nend\n"
    assert 0.5 <= ended.wall_s < DEADLINE_S


async def test_a_large_output_is_bounded_while_it_comes_and_spooled_whole(backgrounds):
    program = "seq 1 20000; echo complete; sleep 99"
    started = await backgrounds.start(Request("shell", program))
    await printed(backgrounds, started.id, "complete\n")
    shown = (await backgrounds.look(started.id)).stdout
    assert shown.truncated
    assert shown.lines_total == 20_001
    ended = await backgrounds.stop(started.id)
    spool = ended.answer.stdout_spool
    assert spool.read_bytes().endswith(b"20000\ncomplete\n")
    spool.unlink(missing_ok=True)


async def test_stopping_ends_the_run_and_keeps_what_it_printed(backgrounds):
    mark = unique_s()
    program = f"echo begun; (setsid sleep {mark} &); sleep {mark}"
    started = await backgrounds.start(Request("shell", program))
    await printed(backgrounds, started.id, "begun\n")
    ended = await backgrounds.stop(started.id)
    assert not ended.running
    assert ended.answer.result.status is Status.CANCELLED
    assert ended.answer.result.stdout.text == "begun\n"
    assert alive(f"sleep\0{mark}\0") == []
    assert (await backgrounds.stop(started.id)).answer is ended.answer


async def test_an_answer_is_the_first_one_once(backgrounds):
    started = await backgrounds.start(Request("shell", "echo 42"))
    looks = [await backgrounds.look(started.id, 30) for _ in range(2)]
    answered = [one.is_first for one in (started, *looks) if one.answer is not None]
    assert answered[0]
    assert sum(answered) == 1
    assert len(answered) >= 2
    assert not backgrounds.all()[0].is_first


async def test_a_run_ends_at_the_end_of_its_life(backgrounds):
    started = await backgrounds.start(Request("shell", "sleep 99", timeout_s=0.3))
    ended = await backgrounds.look(started.id, wait_s=DEADLINE_S)
    assert ended.answer.result.status is Status.TIMED_OUT


async def test_no_run_outlives_its_server(executor):
    mark = unique_s()
    async with open_backgrounds(executor, keep_result) as backgrounds:
        started = await backgrounds.start(Request("shell", f"echo begun; sleep {mark}"))
        await printed(backgrounds, started.id, "begun\n")
        await until_alive(f"sleep\0{mark}\0", 1)
    await until_alive(f"sleep\0{mark}\0", 0)


async def test_what_cannot_run_is_refused_at_the_start(backgrounds):
    with pytest.raises(RequestError, match="empty"):
        await backgrounds.start(Request("shell", "  "))
    with pytest.raises(RequestError, match="background"):
        await backgrounds.start(Request("shell", ":", session="s"))
    assert backgrounds.all() == ()


async def test_runs_are_listed_in_their_order_with_a_label(backgrounds):
    first = await backgrounds.start(Request("shell", "sleep 99"))
    second = await backgrounds.start(Request("python", "print(1)"))
    await backgrounds.look(second.id, wait_s=DEADLINE_S)
    listed = backgrounds.all()
    assert [(run.id, run.running) for run in listed] == [(first.id, True), (second.id, False)]
    assert listed[0].label == "shell: sleep 99"
    with pytest.raises(RequestError, match="bg-nothing") as caught:
        await backgrounds.look("bg-nothing")
    assert first.id in caught.value.hint


async def test_running_and_ended_ones_are_bounded(backgrounds):
    for _ in range(ENDED_MAX + 3):
        started = await backgrounds.start(Request("shell", ":"))
        await backgrounds.look(started.id, wait_s=DEADLINE_S)
    assert len(backgrounds.all()) <= ENDED_MAX + 1
    many = [await backgrounds.start(Request("shell", "sleep 99")) for _ in range(RUNNING_MAX)]
    with pytest.raises(RequestError, match="which is the limit"):
        await backgrounds.start(Request("shell", ":"))
    await backgrounds.stop(many[0].id)
    assert (await backgrounds.start(Request("shell", ":"))).id


async def test_other_runs_do_not_wait_for_those_in_the_background(backgrounds, executor):
    for _ in range(RUNNING_MAX):
        await backgrounds.start(Request("shell", "sleep 99"))
    with trio.fail_after(DEADLINE_S):
        assert (await executor.run(Request("shell", "echo hi"))).result.stdout.text == "hi\n"


async def test_a_failure_to_keep_the_result_is_told_and_ends_nothing_else(executor):
    async def fail(request: Request, completed: Completed) -> Completed:
        raise OSError("disk full")

    async with open_backgrounds(executor, fail) as backgrounds:
        started = await backgrounds.start(Request("shell", "sleep 0.1"))
        ended = await backgrounds.look(started.id, wait_s=DEADLINE_S)
        assert ended.error == "OSError: disk full"
        assert (await backgrounds.start(Request("shell", "sleep 99"))).running
