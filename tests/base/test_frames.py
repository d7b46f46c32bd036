"""Frames between processes: whole, in their order, and never more than is asked for."""

from __future__ import annotations

import socket
import threading
from typing import NamedTuple

import pytest

from base.frames import LENGTH_BYTES, decode, encode, receive, send, take_frame, to_frame


class Pair(NamedTuple):
    """A value that is sent.

    Attributes:
        name: a file's name, perhaps with bytes that are not UTF-8.
        counts: numbers by name.
    """

    name: str
    counts: dict[str, int]


@pytest.fixture
def connection():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("contents", [[b""], [b"a", b"", b"bc"], [bytes(3_000_000), b"x"]])
def test_frames_arrive_whole_and_in_order(connection, contents):
    ours, theirs = connection
    sending = threading.Thread(target=send, args=(ours, *contents))
    sending.start()
    assert [receive(theirs) for _ in contents] == contents
    sending.join()


def test_frames_are_taken_out_of_what_was_read_once_they_are_complete():
    data = bytearray(to_frame(b"one") + to_frame(b"two")[:-1])
    assert take_frame(data) == b"one"
    assert take_frame(data) is None
    data += b"o"
    assert take_frame(data) == b"two"
    assert not data


@pytest.mark.parametrize("sent", [b"", bytes(LENGTH_BYTES - 1), to_frame(b"whole")[:-1]])
def test_an_end_amid_a_frame_is_told(connection, sent):
    ours, theirs = connection
    ours.sendall(sent)
    ours.close()
    with pytest.raises(EOFError):
        receive(theirs)


def test_a_frame_over_the_bound_is_not_read(connection):
    ours, theirs = connection
    send(ours, bytes(10))
    with pytest.raises(OSError, match="over 9"):
        receive(theirs, most=9)


def test_values_cross_with_names_of_any_bytes():
    value = Pair("caf\udce9", {"a": 1})
    assert decode(Pair, encode(value)) == value


@pytest.mark.parametrize("content", [b"", b"{", b'["a", 1]', b'[1, {"a": 1}]'])
def test_what_is_of_another_kind_is_refused(content):
    with pytest.raises(ValueError):  # noqa: PT011 - of msgspec, json or Unicode
        decode(Pair, content)
