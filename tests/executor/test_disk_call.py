"""Where calls that may wait for a disk are made."""

from __future__ import annotations

import threading

import pytest

from executor import disk_call
from executor.disk_call import DiskCall

HERE = threading.get_ident


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """What the clock shows next; the last stands still."""
    shows = [0.0]
    monkeypatch.setattr(
        disk_call.time, "monotonic", lambda: shows.pop(0) if len(shows) > 1 else shows[0]
    )
    return shows


async def test_the_first_call_has_a_thread_and_one_after_a_quick_one_has_none(clock):
    call = DiskCall()
    assert await call(HERE) != HERE()
    assert await call(HERE) == HERE()


async def test_after_a_slow_call_the_next_has_a_thread_again(clock):
    call = DiskCall()
    await call(HERE)
    clock[:] = [0.0, 1.0]
    assert await call(HERE) == HERE()
    assert await call(HERE) != HERE()
    assert await call(HERE) == HERE()


async def test_what_is_large_always_has_a_thread(clock):
    call = DiskCall()
    await call(HERE)
    assert await call(HERE, is_small=False) != HERE()


async def test_an_error_is_the_callers_in_either_place(clock):
    call = DiskCall()
    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            await call(lambda: int("x"))
