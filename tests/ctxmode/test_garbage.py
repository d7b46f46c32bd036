"""Garbage is not looked for while modules are loaded; while a verb works it is."""

from __future__ import annotations

import pytest

PROGRAM = """
import gc, sys
from ctxmode import launch
launch.run = lambda action: print(gc.isenabled(), gc.get_freeze_count() > 0)
from ctxmode.cli import main
main()
print(gc.get_freeze_count() > len(sys.modules))
"""


@pytest.mark.parametrize("arguments", [["serve"], ["serve", "--http"], ["doctor"]], ids=" ".join)
def test_a_verb_works_with_the_collector_on_and_ends_without_it(started, arguments):
    done = started(PROGRAM, *arguments)
    assert done.stdout.split()[:2] == ["True", "True"], done.stderr
    assert done.stdout.split()[-1] == "True"
