"""Garbage is not looked for while modules are loaded; while a verb works it is."""

from __future__ import annotations

import pytest

PROGRAM = """
import gc, sys
from ctxmode import launch
launch.run_in_trio = lambda action: print(gc.isenabled(), gc.get_freeze_count() > 0)
from ctxmode.cli import main
main()
print(gc.get_freeze_count() > len(sys.modules))
"""


@pytest.mark.parametrize("arguments", [["serve", "--http"], ["doctor"]], ids=" ".join)
def test_a_verb_works_with_the_collector_on_and_ends_without_it(started, arguments):
    done = started(PROGRAM, *arguments)
    assert done.stdout.split()[:2] == ["True", "True"], done.stderr
    assert done.stdout.split()[-1] == "True"


LOADING = """
import gc
from ctxmode import command_line
command_line.pause_collection()
from ctxmode.mcp import stdio
stdio.load_what_calls_need()
print(gc.isenabled(), gc.get_freeze_count() > 0)
"""


def test_a_server_on_a_pipe_collects_once_all_is_loaded(started):
    assert started(LOADING).stdout.split() == ["True", "True"]
