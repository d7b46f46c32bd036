"""Whom the kernel ends first when memory runs out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

from executor.spawner import proc

OWN = Path("/proc/self/oom_score_adj")


def fork_in_vain(exposed: int) -> NoReturn:
    """As where there are too many processes."""
    assert int(OWN.read_text()) == exposed
    raise BlockingIOError


def test_what_forks_is_exposed_only_meanwhile_also_if_that_fails():
    before = int(OWN.read_text())
    score = proc._Score()
    score.open()
    with pytest.raises(BlockingIOError), score.hold_raised():
        fork_in_vain(max(before, int(proc.SCORE)))
    os.close(score._fd)
    assert int(OWN.read_text()) == before
