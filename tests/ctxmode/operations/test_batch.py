"""Several commands under one deadline, with a stand-in for the run of each."""

import pytest
import trio

from ctxmode.errors import UsageError
from ctxmode.operations.batch import BatchCommand, BatchRequest, run_commands
from executor.model import Result, Status
from executor.run.output_routing import Answer

COMMANDS = tuple(BatchCommand(f"c{number}", f"echo {number}") for number in range(6))


async def run(batch, execute):
    return await run_commands(
        batch, execute, trio.current_time() + batch.total_s, batch.count_workers()
    )


async def test_commands_run_in_the_order_given_and_answer_in_it(autojump_clock):
    seen = []

    async def execute(request, label):
        seen.append(label)
        await trio.sleep(1)
        return Answer(Result(Status.OK))

    answers = await run(BatchRequest(COMMANDS, concurrency=1), execute)
    assert seen == [command.label for command in COMMANDS]
    assert [answer.label for answer in answers] == seen
    assert trio.current_time() == pytest.approx(6, abs=0.01)


async def test_side_by_side_they_overlap_and_still_answer_in_order(autojump_clock):
    async def execute(request, label):
        await trio.sleep(7 - int(label[1:]))
        return Answer(Result(Status.OK, message=label))

    started = trio.current_time()
    answers = await run(BatchRequest(COMMANDS, concurrency=6), execute)
    assert trio.current_time() - started == pytest.approx(7, abs=0.01)
    assert [answer.answer.result.message for answer in answers] == [c.label for c in COMMANDS]


async def test_the_time_is_for_all_and_who_comes_too_late_is_skipped_and_says_so(autojump_clock):
    async def execute(request, label):
        assert request.timeout_s > 0
        await trio.sleep(min(2, request.timeout_s))
        return Answer(Result(Status.OK))

    answers = await run(BatchRequest(COMMANDS, timeout_s=3, concurrency=1), execute)
    assert [answer.answer is not None for answer in answers] == [True, True] + [False] * 4
    assert all("time" in answer.skipped for answer in answers[2:])


async def test_a_command_that_cannot_be_run_does_not_touch_the_others(autojump_clock):
    async def execute(request, label):
        if label == "c1":
            raise UsageError("the code is empty", "give some")
        return Answer(Result(Status.OK))

    answers = await run(BatchRequest(COMMANDS[:3]), execute)
    assert [answer.skipped for answer in answers] == ["", "the code is empty\ngive some", ""]


async def test_the_deadline_holds_for_what_comes_after_the_program_too(autojump_clock):
    async def execute(request, label):
        if label == "c1":
            await trio.sleep_forever()  # keeping its output hangs
        return Answer(Result(Status.NONZERO_EXIT, exit_code=7))

    started = trio.current_time()
    answers = await run(BatchRequest(COMMANDS[:3], timeout_s=5, concurrency=2), execute)
    assert trio.current_time() - started == pytest.approx(5, abs=0.01)
    assert [a.answer and a.answer.result.exit_code for a in answers] == [7, None, 7]
    assert "time" in answers[1].skipped


async def test_a_failure_of_the_machine_does_not_hide_the_others(autojump_clock):
    async def execute(request, label):
        if label == "c0":
            raise OSError(5, "Input/output error")
        return Answer(Result(Status.OK))

    answers = await run(BatchRequest(COMMANDS[:2]), execute)
    assert "Input/output error" in answers[0].skipped
    assert answers[1].answer is not None


@pytest.mark.parametrize(
    ("asked", "profile", "workers"),
    [
        (None, "build", 1),
        (None, "mine", 1),
        (64, "analyze", 6),
        (3, "build", 3),
        (1, "analyze", 1),
    ],
)
def test_how_many_run_at_once(asked, profile, workers):
    assert BatchRequest(COMMANDS, concurrency=asked, profile=profile).count_workers() == workers


def test_what_changes_nothing_runs_on_every_processor(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert BatchRequest(COMMANDS).count_workers() == 4
    assert BatchRequest(COMMANDS * 20).count_workers(16) == 16
    assert BatchRequest(COMMANDS * 20, profile="build").count_workers(16) == 1


@pytest.mark.parametrize("concurrency", [None, 64])
async def test_as_many_as_were_asked_for_take_no_turns(concurrency):
    asked = []

    async def execute(request, label):
        asked.append(request.background)
        return Answer(Result(Status.OK))

    await run(BatchRequest(COMMANDS[:2], concurrency=concurrency), execute)
    assert asked == [concurrency is not None] * 2
