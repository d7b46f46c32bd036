"""Hosts are driven when they are asked for, by their mark (`-m hosts`) or a test's id."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.installing import cache_folder
from tests.hosts.outcomes import is_reported
from tests.marks import HOSTS

CACHE = cache_folder()  # of the person: tests have a cache of their own each


@pytest.fixture
def cache() -> Iterator[Path]:
    """Where hosts are kept; for one test at a time, where hosts' times are reported."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if is_reported() else fcntl.LOCK_SH)
        yield CACHE


@pytest.hookimpl(trylast=True)  # once every test has its mark
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the driven hosts out unless their mark, or single tests by their ids, are asked for."""
    by_mark = re.search(rf"\b{HOSTS}\b", config.getoption("markexpr") or "")
    by_id = any("::" in argument for argument in config.args)  # as a failed test is run again
    if by_mark or by_id:
        return
    left_out = [item for item in items if item.get_closest_marker(HOSTS)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
