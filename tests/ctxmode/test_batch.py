"""Several commands under one deadline, with a stand-in for the run of each."""

import pytest
import trio

from ctxmode.batch import BatchCommand, BatchRequest, run_commands
from ctxmode.errors import UsageError
from executor.keep import Answer
from executor.model import Result, Status

COMMANDS = tuple(BatchCommand(f"c{number}", f"echo {number}") for number in range(6))


async def test_commands_run_in_the_order_given_and_answer_in_it(autojump_clock):
    seen = []

    async def execute(request, label):
        seen.append(label)
        await trio.sleep(1)
        return Answer(Result(Status.OK))

    answers = await run_commands(BatchRequest(COMMANDS), execute)
    assert seen == [command.label for command in COMMANDS]
    assert [answer.label for answer in answers] == seen
    assert trio.current_time() == pytest.approx(6, abs=0.01)


async def test_side_by_side_they_overlap_and_still_answer_in_order(autojump_clock):
    async def execute(request, label):
        await trio.sleep(7 - int(label[1:]))
        return Answer(Result(Status.OK, message=label))

    started = trio.current_time()
    answers = await run_commands(BatchRequest(COMMANDS, concurrency=6), execute)
    assert trio.current_time() - started == pytest.approx(7, abs=0.01)
    assert [answer.answer.result.message for answer in answers] == [c.label for c in COMMANDS]


async def test_the_time_is_for_all_and_who_comes_too_late_is_skipped_and_says_so(autojump_clock):
    async def execute(request, label):
        await trio.sleep(2)
        assert request.timeout_s > 0
        return Answer(Result(Status.OK))

    answers = await run_commands(BatchRequest(COMMANDS, timeout_s=3), execute)
    assert [answer.answer is not None for answer in answers] == [True, True] + [False] * 4
    assert all("time" in answer.skipped for answer in answers[2:])


async def test_a_command_that_cannot_be_run_does_not_touch_the_others(autojump_clock):
    async def execute(request, label):
        if label == "c1":
            raise UsageError("the code is empty", "give some")
        return Answer(Result(Status.OK))

    answers = await run_commands(BatchRequest(COMMANDS[:3]), execute)
    assert [answer.skipped for answer in answers] == ["", "the code is empty\ngive some", ""]
