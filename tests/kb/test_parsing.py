"""Parsing ends in time: by itself where the parser asks, else by the worker's timer."""

from __future__ import annotations

import signal
import time
from types import SimpleNamespace

import pytest

from kb import parsing

PROGRAM = b"def f():\n    return 1\n" * 500


@pytest.fixture
def own_timer():
    """A timer of processor time, as a worker has one, and none behind the test."""
    signal.setitimer(signal.ITIMER_PROF, 100.0)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)


def test_the_clock_is_looked_at_whenever_the_parser_asks(monkeypatch):
    at_each_look = iter([0.0, *[100.0] * 9]).__next__  # it ends at the first: more are missing
    clocks = SimpleNamespace(monotonic=at_each_look, thread_time=time.thread_time)
    monkeypatch.setattr(parsing, "PARSE_BASE_S", -1.0)
    monkeypatch.setattr(parsing, "time", clocks)
    with pytest.raises(TimeoutError, match="no python syntax tree"):
        parsing.parse(PROGRAM, "python")


def test_a_parse_ends_a_worker_sooner_and_leaves_it_the_rest_of_its_time(own_timer):
    with parsing._ending_worker(2.0):
        assert 1.8 < signal.getitimer(signal.ITIMER_PROF)[0] < 2.1  # a kernel's clock ticks
    assert 98 < signal.getitimer(signal.ITIMER_PROF)[0] < 100.1
    with parsing._ending_worker(200.0):  # no later than it would end anyway
        assert signal.getitimer(signal.ITIMER_PROF)[0] < 100.1


def test_a_parse_outside_of_a_worker_starts_no_timer():
    with parsing._ending_worker(2.0):
        assert signal.getitimer(signal.ITIMER_PROF)[0] == 0
    assert signal.getitimer(signal.ITIMER_PROF)[0] == 0
