"""The memory that all servers of a user may spend ahead of use."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from executor.pool.cells import SharedBudget


@contextmanager
def living(folder: Path, name: str) -> Iterator[SharedBudget]:
    lock = os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield SharedBudget(folder, name, 100)
    finally:
        os.close(lock)


def test_servers_share_one_budget(tmp_path):
    with living(tmp_path, "a") as a, living(tmp_path, "b") as b:
        assert a.claim(60)
        assert not b.claim(60)
        assert b.claim(40)


def test_giving_back_is_always_possible(tmp_path):
    with living(tmp_path, "a") as a, living(tmp_path, "b") as b:
        assert a.claim(100)
        assert not b.claim(1)
        assert a.claim(20)
        assert b.claim(80)


def test_the_dead_claim_nothing(tmp_path):
    with living(tmp_path, "a") as a:
        assert a.claim(100)
    with living(tmp_path, "b") as b:
        assert b.claim(100)
