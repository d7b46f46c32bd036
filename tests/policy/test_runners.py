"""What a program runs is told by modules that are loaded when a command needs one."""

from __future__ import annotations

import importlib
import inspect

import pytest

from policy.shell.options import PROGRAMS
from policy.shell.run import RUNNERS, runner


@pytest.mark.parametrize("module", sorted(set(RUNNERS.values())))
def test_the_table_names_all_that_a_module_runs(module):
    source = importlib.import_module(f"policy.shell.{module}")
    functions = [item for item in vars(source).values() if inspect.isfunction(item)]
    own = {item.__name__ for item in functions if item.__module__ == source.__name__}
    known = {name.removeprefix("run_") for name in own if name.startswith("run_")}
    assert known == {kind for kind, where in RUNNERS.items() if where == module}


def test_every_program_runs_what_is_known():
    kinds = {program.runs for program in PROGRAMS.values()} - {""}
    assert all(map(callable, map(runner, kinds)))


def test_a_kind_that_is_not_known_is_no_permission():
    with pytest.raises(KeyError):
        runner("nonsense")
