"""`context-mode run` takes an earlier trial at its word, until a cell proves it wrong."""

from __future__ import annotations

import json

import pytest

RUN = """
import sys
from ctxmode.cli import main
from executor.cells import placement

really = placement._try

async def noting(place):
    sys.stderr.write("tried " + place.tier)
    return await really(place)

placement._try = noting
sys.exit(main(["run", "shell", "-c", "echo hi"]))
"""


def test_a_run_after_the_first_makes_no_trial_until_cells_are_otherwise(started, tmp_path):
    first = started(RUN)
    assert (first.returncode, first.stdout) == (0, "hi\n")
    if first.stderr != "tried A":
        pytest.skip("not applicable: only a trial of tier A is recorded")
    again = started(RUN)
    assert (again.returncode, again.stdout, again.stderr) == (0, "hi\n", "")
    record = tmp_path / "data" / "state" / "trials.json"
    right = json.loads(record.read_text())
    wrong = {state: {**found, "landlock": -1} for state, found in right.items()}
    record.write_text(json.dumps(wrong))
    mended = started(RUN)
    assert (mended.returncode, mended.stdout, mended.stderr) == (0, "hi\n", "tried A")
    assert json.loads(record.read_text()) == right
