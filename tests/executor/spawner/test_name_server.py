"""The cell's name server knows no name, keeps those it is asked for, and takes nothing else."""

from __future__ import annotations

import socket
import struct

import pytest

from executor.spawner.refusal_counts import (
    LOOKED_UP,
    NOTICES_MAX,
    TARGETS_MAX,
    RefusedCounts,
    answer_names,
    read_question,
)

A, AAAA, PTR = 1, 28, 12


def question(name: bytes, kind: int = A, flags: int = 0x0100, count: int = 1) -> bytes:
    labels = b"".join(bytes((len(label),)) + label for label in name.split(b".")) if name else b""
    return (
        struct.pack("!6H", 7, flags, count, 0, 0, 0) + labels + b"\0" + struct.pack("!2H", kind, 1)
    )


def test_there_is_no_such_name_says_the_answer_at_once():
    answer, name, kind = read_question(question(b"Www.Example.com"))
    number, flags, *counts = struct.unpack_from("!6H", answer)
    assert (number, flags & 0x8000, flags & 15, counts) == (7, 0x8000, 3, [1, 0, 0, 0])
    assert answer[12:] == question(b"Www.Example.com")[12:]
    assert (name, kind) == ("www.example.com", A)


def test_what_follows_the_question_is_not_repeated():
    answer, _, _ = read_question(question(b"a.b") + b"\0\0\x29" * 9)
    assert answer[12:] == question(b"a.b")[12:]


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\0" * 11,
        question(b"a", flags=0x8000),
        question(b"a", flags=0x2800),
        question(b"a", count=2),
        question(b"a", count=0),
        question(b"a")[:-3],
        question(b"a")[:14],
        struct.pack("!6H", 7, 0, 1, 0, 0, 0) + b"\xc0\x0c\0\1\0\1",
        struct.pack("!6H", 7, 0, 1, 0, 0, 0) + b"\x3f" + b"a" * 400,
    ],
)
def test_what_is_no_question_has_no_answer(message):
    with pytest.raises((ValueError, struct.error, IndexError)):
        read_question(message)


@pytest.mark.parametrize(
    "name", [b"", b"a\nb.com", b"\xff.com", b"a b", b".".join([b"a" * 60] * 5)]
)
def test_what_is_no_plain_name_is_not_kept(name):
    assert read_question(question(name))[1] == ""


def ask(refused: RefusedCounts, *messages: bytes) -> list[bytes]:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
    ):
        server.bind(("127.0.0.1", 0))
        server.setblocking(False)
        client.settimeout(5)
        client.connect(server.getsockname())
        answers = []
        for message in messages:
            client.send(message)
            answer_names(server, refused)
            client.setblocking(False)
            try:
                answers.append(client.recv(600))
            except BlockingIOError:
                answers.append(b"")
        return answers


def test_a_name_counts_once_for_both_kinds_of_address_and_for_no_other_question():
    refused = RefusedCounts()
    asked = [
        question(b"a.com"),
        question(b"a.com", AAAA),
        question(b"b.com", AAAA),
        question(b"c.com", PTR),
    ]
    assert all(ask(refused, *asked, question(b"a.com")))
    assert refused.counts == [(LOOKED_UP, "a.com", 2), (LOOKED_UP, "b.com", 1)]


def test_nonsense_is_not_answered_and_keeps_nobody_waiting():
    refused = RefusedCounts()
    assert ask(refused, b"x" * 700, question(b"a.com"))[0] == b""
    assert refused.counts == [(LOOKED_UP, "a.com", 1)]


def test_so_many_targets_and_notices_are_kept_and_the_others_counted():
    refused = RefusedCounts()
    for number in range(TARGETS_MAX + 5):
        refused.count(LOOKED_UP, f"{number}.com")
    assert (len(refused.counts), refused.omitted) == (TARGETS_MAX, 5)
    for _ in range(NOTICES_MAX):
        refused.count(LOOKED_UP, "0.com")
    assert (
        sum(count for *_, count in refused.counts) + refused.omitted
        == TARGETS_MAX + 5 + NOTICES_MAX
    )
    refused.begin()
    assert (refused.counts, refused.omitted) == ([], 0)
