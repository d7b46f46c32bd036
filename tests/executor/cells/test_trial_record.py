"""An earlier trial of the tier does for a single run, until a cell shows anything else."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from executor import (
    Completed,
    Executor,
    Isolation,
    Request,
    Result,
    Settings,
    Status,
    TrialOutdatedError,
    open_executor,
)
from executor.cells import placement, trial_record
from executor.cells.trial_record import KEPT_MAX, TrialRecord

FOUND = {"landlock": 7, "copy_on_write": True}
ECHO = Request("shell", "echo hi")


@pytest.fixture
def record(tmp_path: Path, project: Path) -> TrialRecord:
    return TrialRecord(tmp_path / "trials.json", project)


@pytest.fixture
def single(project: Path, state_dir: Path) -> Callable[[], AbstractAsyncContextManager[Executor]]:
    """Opens an executor for a single run, whose record no other test has a part in."""
    settings = Settings(sole_language="shell")
    return partial(
        open_executor,
        project=project,
        state_dir=state_dir,
        rules=None,
        home=Path.home(),
        settings=settings,
    )


@pytest.fixture
def trials(monkeypatch) -> Iterator[list[str]]:
    """The tiers that were tried."""
    tried: list[str] = []
    really: Callable[[placement.Placement], Awaitable[object]] = placement._try

    async def noting(place: placement.Placement) -> object:
        tried.append(place.tier)
        return await really(place)

    monkeypatch.setattr(placement, "_try", noting)
    return tried


def must_be_tier_a(executor: Executor) -> None:
    if executor.isolation.tier != "A":
        pytest.skip("not applicable: only a trial of tier A is recorded")


def in_force(isolation: Isolation) -> Isolation:
    """Without why a layer is missing, which names the server that found out."""
    layers = {name: replace(layer, reason="") for name, layer in isolation.layers.items()}
    return replace(isolation, layers=layers)


def test_what_is_kept_is_recalled_until_it_is_forgotten(record):
    assert record.recall() is None
    record.keep(FOUND)
    assert record.recall().found == FOUND
    record.forget()
    assert record.recall() is None


@pytest.mark.parametrize("part", ["_kernel", "_process", "_program", "_place"])
def test_a_trial_in_another_state_is_not_recalled(record, monkeypatch, part):
    record.keep(FOUND)
    monkeypatch.setattr(trial_record, part, lambda *_: ["another"])
    assert record.recall() is None


def test_a_trial_for_another_project_is_not_recalled(record, tmp_path):
    record.keep(FOUND)
    assert TrialRecord(record.file, tmp_path).recall() is None


def test_a_state_names_the_start_of_the_kernel_the_identity_and_the_code():
    assert any("boot_id" in line for line in trial_record._kernel())
    assert any(line.startswith("Uid:") for line in trial_record._process())
    assert any(line.startswith("mnt:") for line in trial_record._process())
    files = {os.path.basename(line.split(" ")[0]) for line in trial_record._program()}
    assert {"seccomp.py", "supervisor.py"} <= files


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", "[" * 100_000, '{"STATE": 7}', '{"STATE": {"landlock": 7}}',
     '{"STATE": {"landlock": "7", "copy_on_write": true}}'],
)  # fmt: skip
def test_a_record_that_means_nothing_is_none(record, text):
    record.file.write_text(text.replace("STATE", record._state()))
    assert record.recall() is None


def test_a_record_holds_so_many_states_and_drops_the_oldest(record):
    record.file.write_text(json.dumps({str(number): FOUND for number in range(KEPT_MAX)}))
    record.keep(FOUND)
    assert list(json.loads(record.file.read_text())) == [
        *map(str, range(1, KEPT_MAX)),
        record._state(),
    ]


async def test_a_second_single_run_makes_no_trial_and_says_the_same_of_its_sandbox(single, trials):
    async with single() as executor:
        must_be_tier_a(executor)
        first = (await executor.run(ECHO)).result
    assert trials == ["A"]
    async with single() as executor:
        second = (await executor.run(ECHO)).result
        build = (await executor.run(Request("shell", "echo hi", profile="build"))).result
    assert trials == ["A"]
    assert (first.stdout.text, second.stdout.text, build.stdout.text) == ("hi\n",) * 3
    assert in_force(second.isolation) == in_force(first.isolation)


@pytest.mark.parametrize("wrong", [{"landlock": 1}, {"copy_on_write": "no overlay here"}], ids=str)
async def test_a_cell_that_is_not_as_recorded_runs_nothing_and_the_next_executor_tries(
    single, trials, project, state_dir, wrong
):
    async with single() as executor:
        must_be_tier_a(executor)
        right = in_force(executor.isolation)
    record = TrialRecord(state_dir / "trials.json", project)
    record.keep({**record.recall().found, **wrong})
    printed: list[bytes] = []
    async with single() as executor:
        with pytest.raises(TrialOutdatedError):
            await executor.run(ECHO, on_output=lambda _, chunk: printed.append(chunk))
    assert not printed
    async with single() as executor:
        assert in_force(executor.isolation) == right
        assert (await executor.run(ECHO)).result.status is Status.OK
    assert trials == ["A", "A"]


async def test_a_cell_that_cannot_be_made_has_the_next_executor_try(single, trials, monkeypatch):
    async with single() as executor:
        must_be_tier_a(executor)
    async with single() as executor:
        monkeypatch.setattr(executor._supply._maker.__class__, "finish", _unable)
        with pytest.raises(TrialOutdatedError):
            await executor.run(ECHO)
    monkeypatch.undo()
    async with single() as executor:
        assert executor._supply._placement.recalled is None


async def test_a_run_without_a_sandbox_has_the_next_executor_try(single, monkeypatch):
    async with single() as executor:
        must_be_tier_a(executor)
    async with single() as executor:
        monkeypatch.setattr(executor._compiler.__class__, "run", _lost)
        assert (await executor.run(ECHO)).result.status is Status.SANDBOX_ERROR
    monkeypatch.undo()
    async with single() as executor:
        assert executor._supply._placement.recalled is None


async def test_a_server_makes_a_trial_of_its_own(executor, trials, project, state_dir):
    must_be_tier_a(executor)
    assert executor._supply._placement.recalled is None
    assert TrialRecord(state_dir / "trials.json", project).recall() is None


async def _lost(*_: object) -> Completed:
    return Completed(Result(Status.SANDBOX_ERROR))


async def _unable(*_: object) -> None:
    raise OSError("no room")
