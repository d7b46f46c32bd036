"""What a program runs is told by modules that are loaded when a command needs one."""

from __future__ import annotations

import importlib

import pytest

from policy.shell.programs import PROGRAMS
from policy.shell.run import RUNNERS, runner


@pytest.mark.parametrize("module", sorted(set(RUNNERS.values())))
def test_the_table_names_all_that_a_module_knows(module):
    known = importlib.import_module(f"policy.shell.{module}").RUNNERS
    assert set(known) == {kind for kind, where in RUNNERS.items() if where == module}


def test_every_program_runs_what_is_known():
    kinds = {program.runs for program in PROGRAMS.values()} - {""}
    assert all(map(callable, map(runner, kinds)))


def test_a_kind_that_is_not_known_is_no_permission():
    with pytest.raises(KeyError):
        runner("nonsense")
