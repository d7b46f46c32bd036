"""The place of the hosts that tests drive."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.installing import cache_folder
from tests.hosts.outcomes import is_reported

CACHE = cache_folder()  # of the person: tests have a cache of their own each


@pytest.fixture
def cache() -> Iterator[Path]:
    """Where hosts are kept; for one test at a time, where hosts' times are reported."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if is_reported() else fcntl.LOCK_SH)
        yield CACHE
