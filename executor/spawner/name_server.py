"""The name server of a cell's empty network: no name exists there, and each that is asked is kept.

A client that asks gets its answer as fast as it did when nobody listened. The questions come from
programs: what is no plain question is not answered, and what is kept is a plain name.
"""

from __future__ import annotations

import contextlib
import socket
import struct

from .refused import RefusedCounts

ADDRESS = ("127.0.0.1", 53)
MESSAGE_BYTES_MAX = 512  # RFC 1035, section 4.2.1
ANSWERS_MAX = 64  # in one go, before the supervisor looks at limits and orders again
HEADER = struct.Struct("!6H")
IS_ANSWER, RECURSION_DESIRED, RECURSION_AVAILABLE, OPCODE = 0x8000, 0x0100, 0x0080, 0x7800
NO_SUCH_NAME = 3
LABEL_BYTES_MAX, NAME_BYTES_MAX = 63, 253
PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
IPV4_ADDRESS = 1
ADDRESSES = frozenset((IPV4_ADDRESS, 28, 65))  # the types of question that ask for a host


def listen() -> socket.socket | None:
    """The socket that is asked; None where the kernel gives none, and so nobody answers."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        server.setblocking(False)
        server.bind(ADDRESS)
    except OSError:
        server.close()
        return None
    return server


def answer_all(server: socket.socket, refused: RefusedCounts) -> None:
    """Answer what is asked by now."""
    for _ in range(ANSWERS_MAX):
        try:
            question, client = server.recvfrom(MESSAGE_BYTES_MAX)
        except OSError:  # nobody asks any more, or who asked is gone
            return
        try:
            answer, name, kind = read_question(question)
        except (ValueError, struct.error, IndexError):
            continue
        if name and kind in ADDRESSES:
            refused.see_name(name, is_again=kind != IPV4_ADDRESS)
        with contextlib.suppress(OSError):
            server.sendto(answer, client)


def read_question(message: bytes) -> tuple[bytes, str, int]:
    """The answer that there is no such name, the name, empty if it is no plain one, and the type.

    Raises:
        ValueError, struct.error, IndexError: it is no single question.
    """
    number, flags, questions, *_ = HEADER.unpack_from(message)
    if flags & (IS_ANSWER | OPCODE) or questions != 1:
        raise ValueError("not a question")
    at, labels = HEADER.size, []
    while size := message[at]:
        label = message[at + 1 : at + 1 + size]
        if size > LABEL_BYTES_MAX or len(label) != size:
            raise ValueError("not a name")
        labels.append(label)
        at += 1 + size
    kind, _ = struct.unpack_from("!2H", message, at + 1)
    flags = IS_ANSWER | flags & RECURSION_DESIRED | RECURSION_AVAILABLE | NO_SUCH_NAME
    head = HEADER.pack(number, flags, 1, 0, 0, 0)
    name = b".".join(labels).lower()
    is_plain = len(name) <= NAME_BYTES_MAX and all(PLAIN.issuperset(label) for label in labels)
    return head + message[HEADER.size : at + 5], name.decode() if is_plain else "", kind
