"""Calls and look-ups that a program was refused, counted; and the name server that refuses.

The filter asks about calls that it would else refuse itself, so that they are known: each is
answered with the very error that the filter has for it, and none ever goes on. Where nobody answers
the kernel refuses it (ENOSYS). Connections are told, too, and go on: the cell's empty network
refuses them. Of a program nothing is believed but the number of its call and the address that it
names, which says what it tried, not what came of it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
from collections.abc import Mapping

from .kernel import SYS_INOTIFY, SYS_SOCKET, HeldCall, copy_descriptor
from .messages import BoxDescription, Description, Notice

NOTICES_MAX = 200  # of one run: beyond that calls are answered, and only counted
TARGETS_MAX = 64
ADDRESS_BYTES_MAX = 128  # struct sockaddr_storage
UNIX, IPV4, IPV6 = int(socket.AF_UNIX), int(socket.AF_INET), int(socket.AF_INET6)
V4_MAPPED = bytes(10) + b"\xff\xff"
NAME_SERVICE_PORT = 53
LOOKED_UP = 0  # in place of a call's number
# What the kernel counts by user, in each user namespace and in those above it (namespaces(7)): no
# box may use up what its user has. Without its own user namespace the supervisor counts calls.
INSTANCES_MAX, WATCHES_MAX = 32, 16_384
LEFT = {errno.EMFILE: INSTANCES_MAX, errno.ENOSPC: WATCHES_MAX}
COUNTED_CALLS = dict(zip(SYS_INOTIFY, (errno.EMFILE, errno.EMFILE, errno.ENOSPC), strict=True))


def read_filter(cell: Description[BoxDescription]) -> bytes:
    """The refusing filter without the calls that are told; empty where none are."""
    told = cell.data.get("told")
    return cell.blob(told[0]) if told else b""


class RefusedCounts:
    """What was refused since `begin`, by call and target."""

    def __init__(self, errors: Mapping[int, int] | None = None) -> None:
        self._errors = errors or {}
        self._counts: dict[tuple[int, str], int] = {}
        self._seen = self._looks = self.omitted = 0
        self._left = dict(LEFT)

    @property
    def counts(self) -> list[Notice]:
        return [(call, target, count) for (call, target), count in self._counts.items()]

    def begin(self, *, is_empty: bool = False) -> None:
        """What was tried so far belongs to no run. An empty box has nothing left of what it had."""
        if is_empty:
            self._left = dict(LEFT)
        self._counts.clear()
        self._seen = self._looks = self.omitted = 0

    def refuse(self, asked: HeldCall) -> int:
        """The error of a call, which is counted; 0 if the box has one left of `COUNTED_CALLS`.

        Whatever is not known is refused, too.
        """
        if asked.number in COUNTED_CALLS:
            error = COUNTED_CALLS[asked.number]
            self._left[error] -= 1
            return error if self._left[error] < 0 else 0
        error = self._errors.get(asked.number, errno.EPERM)
        is_socket = asked.number == SYS_SOCKET
        self.count(asked.number, str(asked.arguments[0] & 0xFFFFFFFF) if is_socket else "")
        return error

    def see_connect(self, asked: HeldCall) -> None:
        """Count where a call is to connect to, unless that is in the cell. So many are seen."""
        self._looks += 1
        if self._looks > NOTICES_MAX:
            return
        if target := _read_target(asked):
            self.count(asked.number, target)

    def see_name(self, name: str, *, is_again: bool) -> None:
        """Count a name that was looked up; `is_again` where most clients ask for it twice."""
        if not (is_again and (LOOKED_UP, name) in self._counts):
            self.count(LOOKED_UP, name)

    def count(self, call: int, target: str) -> None:
        """Count one act, while there is room."""
        self._seen += 1
        key = call, target
        if self._seen <= NOTICES_MAX and (key in self._counts or len(self._counts) < TARGETS_MAX):
            self._counts[key] = self._counts.get(key, 0) + 1
        else:
            self.omitted += 1


def _read_target(asked: HeldCall) -> str:
    """The address that a thread connects to, as text; empty for none that could be refused."""
    descriptor, address, length = asked.arguments[:3]
    try:
        memory = os.open(f"/proc/{asked.thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            content = os.pread(memory, min(length & 0xFFFFFFFF, ADDRESS_BYTES_MAX), address)
        finally:
            os.close(memory)
        return _describe(content, asked.thread, descriptor)
    except (OSError, OverflowError, ValueError, struct.error):
        return ""


def _describe(content: bytes, thread: int, descriptor: int) -> str:
    (family,) = struct.unpack_from("=H", content)
    if family == UNIX:
        return _describe_unix(content[2:], thread)
    if family not in (IPV4, IPV6):
        return ""
    (port,) = struct.unpack_from("!H", content, 2)
    place, size = (4, 4) if family == IPV4 else (8, 16)
    address = content[place : place + size]
    is_near = _is_near(address)
    if is_near and port == NAME_SERVICE_PORT:
        return ""
    kind = "tcp" if is_near else _kind(thread, descriptor)
    host = socket.inet_ntop(family, address)
    return f"{kind} {f'[{host}]' if family == IPV6 else host}:{port}"


def _describe_unix(name: bytes, thread: int) -> str:
    if name.startswith(b"\0"):
        return "unix @" + name[1:].rstrip(b"\0").decode(errors="replace")
    path = os.fsdecode(name.partition(b"\0")[0])
    if not path.startswith("/"):
        path = os.path.normpath(os.path.join(os.readlink(f"/proc/{thread}/cwd"), path))
    shown = path.encode(errors="surrogateescape").decode(errors="replace")
    return "" if os.path.lexists(path) else f"unix {shown}"


def _is_near(address: bytes) -> bool:
    """Whether an address is one of the cell's own: of the loopback, or none."""
    last = address[-4:] if address[:-4] in (b"", V4_MAPPED) else b""
    return last[:1] in (b"\x7f", b"\0") if last else address[:-1] == bytes(15) and address[-1] < 2


def _kind(thread: int, descriptor: int) -> str:
    """What kind of socket a thread's descriptor is; a stream where that can't be seen."""
    try:
        copy = copy_descriptor(thread, descriptor)
    except OSError:
        return "tcp"
    try:
        own = socket.socket(fileno=copy)
    except OSError:  # it is no socket
        os.close(copy)
        raise
    with own:
        return "udp" if own.type == socket.SOCK_DGRAM else "tcp"


# A client that asks gets its answer as fast as it did when nobody listened. The questions come from
# programs: what is no plain question is not answered, and what is kept is a plain name.

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


def serve_names() -> socket.socket | None:
    """The socket that is asked; None where the kernel gives none, and so nobody answers."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        server.setblocking(False)
        server.bind(ADDRESS)
    except OSError:
        server.close()
        return None
    return server


def answer_names(server: socket.socket, refused: RefusedCounts) -> None:
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
