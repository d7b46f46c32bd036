"""When a machine counts as short of memory."""

from __future__ import annotations

import os

import pytest

from executor.pool import pool
from executor.pool.pool import is_short

PLENTY = "MemTotal: 1000 kB\nMemAvailable: 500 kB\n"


@pytest.mark.parametrize(
    ("memory", "stalls", "short"),
    [
        (PLENTY, "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", False),
        ("MemTotal: 1000 kB\nMemAvailable: 50 kB\n", "", True),
        (PLENTY, "some avg10=30.00 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00\n", True),
        ("nonsense", "nonsense", False),
    ],
)
def test_little_that_is_available_or_long_stalls_are_a_shortage(memory, stalls, short, tmp_path):
    (tmp_path / "memory").write_text(memory)
    (tmp_path / "stalls").write_text(stalls)
    assert is_short(tmp_path / "memory", tmp_path / "stalls") is short


def test_what_cannot_be_read_is_no_shortage(tmp_path):
    assert not is_short(tmp_path / "none", tmp_path / "none")


@pytest.mark.parametrize(
    ("limit", "short"), [(len(os.listdir("/proc/self/fd")), True), (10**6, False)]
)
def test_few_descriptors_that_are_left_are_a_shortage(limit, short, tmp_path, monkeypatch):
    monkeypatch.setattr(pool.resource, "getrlimit", lambda _: (limit, limit))
    assert is_short(tmp_path / "none", tmp_path / "none") is short
