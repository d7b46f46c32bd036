"""Work in a child that the kernel ends: whatever it does, its parent has an answer in time."""

from __future__ import annotations

import builtins
import contextlib
import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from base.frames import take_frame, to_frame
from policy import deadline
from policy.deadline import pause_limit, results_of


def loop_in_c() -> bytes:
    return bytes(sum(itertools.repeat(0)))  # no byte code, so no exception would reach it


def stop() -> bytes:
    os.kill(os.getpid(), signal.SIGSTOP)
    return b""


def crash() -> bytes:
    os._exit(3)


def eat_memory() -> bytes:
    return b"x" * (deadline.MEMORY_BYTES + (64 << 20))


def sleep() -> bytes:
    time.sleep(600)
    return b""


@pytest.fixture
def short_by_the_clock(monkeypatch):
    monkeypatch.setattr(deadline, "WALL_SECONDS", 3.0)


def children() -> set[str]:
    with open(f"/proc/self/task/{os.getpid()}/children") as listed:
        return set(listed.read().split())


@pytest.mark.usefixtures("short_by_the_clock")
@pytest.mark.parametrize("ends", [loop_in_c, stop, crash, eat_memory, sleep])
def test_what_came_before_a_step_that_does_not_end_is_kept(ends: Callable[[], bytes]) -> None:
    def steps() -> Iterator[bytes]:
        yield b"one"
        yield b""
        yield ends()
        yield b"never"

    before = children()
    started = time.monotonic()
    assert results_of(steps, 0.2) == [b"one", b""]
    assert time.monotonic() - started < 20
    assert children() == before


def test_all_results_of_any_size_come_in_order() -> None:
    sizes = (0, 1, 1 << 16, 3 << 20)
    assert results_of(lambda: (b"x" * size for size in sizes), 5.0) == [b"x" * n for n in sizes]


def test_each_step_has_its_own_time() -> None:
    def steps() -> Iterator[bytes]:
        for _ in range(4):
            until = time.process_time() + 0.2
            while time.process_time() < until:
                pass
            yield b"done"

    assert results_of(steps, 0.6) == [b"done"] * 4


def test_a_parent_that_ignores_the_signals_hands_that_on_to_nobody() -> None:
    numbers = (signal.SIGPROF, signal.SIGALRM)
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        assert results_of(lambda: (loop_in_c() for _ in range(2)), 0.2) == []
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def test_what_is_raised_in_the_child_stays_there() -> None:
    def steps() -> Iterator[bytes]:
        yield b"one"
        raise KeyboardInterrupt

    assert results_of(steps, 1.0) == [b"one"]


def test_frames_are_taken_when_they_are_complete() -> None:
    data = bytearray(to_frame(b"ab") + to_frame(b"")[:-1])
    assert take_frame(data) == b"ab"
    assert take_frame(data) is None
    data += to_frame(b"")[-1:]
    assert take_frame(data) == b""
    assert not data
    assert take_frame(data) is None


def test_what_no_text_brings_about_is_not_counted() -> None:
    def steps() -> Iterator[bytes]:
        for counts in (False, True):
            until = time.process_time() + 0.4
            with contextlib.nullcontext() if counts else pause_limit():
                while time.process_time() < until:
                    pass
            yield b"done"

    assert results_of(steps, 0.2) == [b"done"]


def test_memory_is_bounded_where_the_size_of_a_process_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_such_file(*_: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(builtins, "open", no_such_file)
    monkeypatch.setattr(deadline, "_work", lambda *_: deadline.confine() or bytes(4 << 30))
    assert results_of(lambda: [b"never"], 5.0) == []


def test_a_child_that_another_process_ends_gives_what_it_had() -> None:
    def steps() -> Iterator[bytes]:
        yield b"one"
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(600)

    assert results_of(steps, 5.0) == [b"one"]
