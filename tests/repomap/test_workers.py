from __future__ import annotations

import os
import signal

import pytest

from repomap import workers
from repomap.structure import describe_structure
from repomap.workers.wire import answer, decode_structure, encode_order

PROGRAM = b'"""Doc."""\nimport a\n\n\nclass B:\n    def f(self):\n        return a.x\n'


@pytest.fixture(autouse=True)
def own_workers():
    workers.restart()
    yield
    workers.restart()


def test_a_worker_describes_as_this_process_would():
    assert workers.describe(PROGRAM, "python") == describe_structure(PROGRAM, "python")
    assert workers.processes()


def test_what_no_parser_reads_needs_no_worker():
    assert workers.describe(b"# Title\n", "markdown").purpose == "Title"
    assert workers.processes() == []


def test_a_killed_worker_is_replaced():
    workers.describe(PROGRAM, "python")
    (process,) = workers.processes()
    os.kill(process, signal.SIGKILL)
    found = [workers.describe(PROGRAM, "python") for _ in range(2)]
    assert found[-1] == describe_structure(PROGRAM, "python")


@pytest.mark.parametrize(
    "frame",
    [
        b"no json",
        b"[]",
        b'[[], [], [], 1, "", ""]',
        b'[[["f", "function", "", 1, 99, "f"]], [], [], "", "", ""]',
        b'[[["f", "function", "", 2, 1, "f"]], [], [], "", "", ""]',
        b'[[["f", "function", "", true, 1, "f"]], [], [], "", "", ""]',
        b'[[], [["x", "many"]], [], "", "", ""]',
        b'[[], [], [["m", [1], ""]], "", "", ""]',
    ],
)
def test_an_answer_that_no_sound_worker_gives_is_refused(frame):
    with pytest.raises((ValueError, TypeError, KeyError)):
        decode_structure(frame, PROGRAM)
    good = answer(encode_order("python"), PROGRAM)
    assert decode_structure(good, PROGRAM).purpose == "Doc."
