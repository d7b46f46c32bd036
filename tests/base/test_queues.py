"""Queues: whoever took a number later waits for those before, in this process and in others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from base import locks
from base.locks import take_place, wait_turn

CHILD = """
import sys
from base.locks import wait_turn
wait_turn(int(sys.argv[1]), int(sys.argv[2]))
print(sys.argv[2], flush=True)
"""


def test_children_have_their_turn_by_number_whichever_is_quicker(tmp_path):
    path = str(tmp_path / "queue")
    first = take_place(path)
    places = [take_place(path) for _ in range(6)]
    said, saying = os.pipe()
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, *map(str, place)],
            pass_fds=[place[0]], stdout=saying,
        )
        for place in reversed(places)
    ]  # fmt: skip
    os.close(saying)
    for place in places:
        os.close(place[0])
    wait_turn(*first)
    os.close(first[0])
    with os.fdopen(said) as read:
        assert read.read().split() == [str(number) for _, number in places]
    assert [child.wait() for child in children] == [0] * len(children)


def test_who_dies_is_not_waited_for(tmp_path):
    path = str(tmp_path / "queue")
    before = take_place(path)
    place = take_place(path)
    os.close(before[0])
    wait_turn(*place)
    os.close(place[0])


def test_the_file_begins_anew_before_it_is_long(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_QUEUE_BYTES_MAX", 3)
    path = tmp_path / "queue"
    places = [take_place(str(path)) for _ in range(7)]
    assert [number for _, number in places] == [1, 2, 3, 1, 2, 3, 1]
    assert path.stat().st_size == 1
    for place in places:
        os.close(place[0])


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("x"), Path.mkdir, os.mkfifo])
def test_what_is_no_plain_file_is_refused(tmp_path, make):
    make(tmp_path / "queue")
    with pytest.raises(OSError, match="queue"):
        take_place(str(tmp_path / "queue"))
