"""Counts of the calls and look-ups that a program was refused; the name server that refuses.

The filter asks about calls that it would otherwise refuse itself, so that they are counted: each
gets the filter's own error for it, and none is executed. If nobody answers, the kernel refuses it
(ENOSYS). Connections are reported, too, and executed: the cell's empty network refuses them. From
a program only the call's number and the address are read; they show the attempt, not its outcome.
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

NOTICES_MAX = 200  # of one run: further calls are answered, but only their number is counted
TARGETS_MAX = 64
ADDRESS_BYTES_MAX = 128  # struct sockaddr_storage
UNIX, IPV4, IPV6 = int(socket.AF_UNIX), int(socket.AF_INET), int(socket.AF_INET6)
V4_MAPPED = bytes(10) + b"\xff\xff"
NAME_SERVICE_PORT = 53
LOOKED_UP = 0  # instead of a call's number
# The kernel counts these by user, in each user namespace and in those above it (namespaces(7)): a
# box must not use up its user's. Without a user namespace of the box, the supervisor counts calls.
INSTANCES_MAX, WATCHES_MAX = 32, 16_384
LEFT = {errno.EMFILE: INSTANCES_MAX, errno.ENOSPC: WATCHES_MAX}
COUNTED_CALLS = dict(zip(SYS_INOTIFY, (errno.EMFILE, errno.EMFILE, errno.ENOSPC), strict=True))


def read_filter(cell: Description[BoxDescription]) -> bytes:
    """Read the refusing filter without the reported calls; empty if none are reported."""
    told = cell.data.get("told")
    return cell.blob(told[0]) if told else b""


class RefusedCounts:
    """Refused calls since `begin`, by call and target."""

    def __init__(self, errors: Mapping[int, int] | None = None) -> None:
        self._errors = errors or {}
        self._counts: dict[tuple[int, str], int] = {}
        self._seen = self._looks = self.omitted = 0
        self._left = dict(LEFT)

    @property
    def counts(self) -> list[Notice]:
        return [(call, target, count) for (call, target), count in self._counts.items()]

    def begin(self, *, is_empty: bool = False) -> None:
        """Start at 0: earlier attempts belong to no run. An empty box has its full allowance."""
        if is_empty:
            self._left = dict(LEFT)
        self._counts.clear()
        self._seen = self._looks = self.omitted = 0

    def refuse(self, asked: HeldCall) -> int:
        """Return a call's error and count it; 0 if the box may make this one of `COUNTED_CALLS`.

        Unknown calls are refused, too.
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
        """Count where a call connects to, unless that is in the cell; up to `NOTICES_MAX` calls."""
        self._looks += 1
        if self._looks > NOTICES_MAX:
            return
        if target := _read_target(asked):
            self.count(asked.number, target)

    def see_name(self, name: str, *, is_again: bool) -> None:
        """Count a name that was looked up; `is_again` if most clients ask for it twice."""
        if not (is_again and (LOOKED_UP, name) in self._counts):
            self.count(LOOKED_UP, name)

    def count(self, call: int, target: str) -> None:
        """Count one attempt, while there is room."""
        self._seen += 1
        key = call, target
        if self._seen <= NOTICES_MAX and (key in self._counts or len(self._counts) < TARGETS_MAX):
            self._counts[key] = self._counts.get(key, 0) + 1
        else:
            self.omitted += 1


def _read_target(asked: HeldCall) -> str:
    """Return the address that a thread connects to; empty for one that can't be refused."""
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
    """Return whether an address is in the cell: a loopback address, or the unspecified one."""
    last = address[-4:] if address[:-4] in (b"", V4_MAPPED) else b""
    return last[:1] in (b"\x7f", b"\0") if last else address[:-1] == bytes(15) and address[-1] < 2


def _kind(thread: int, descriptor: int) -> str:
    """Return the kind of a thread's socket; "tcp" if it can't be read."""
    try:
        copy = copy_descriptor(thread, descriptor)
    except OSError:
        return "tcp"
    try:
        own = socket.socket(fileno=copy)
    except OSError:  # it is not a socket
        os.close(copy)
        raise
    with own:
        return "udp" if own.type == socket.SOCK_DGRAM else "tcp"


# A client gets its answer as fast as without this server. Questions come from programs: malformed
# ones are not answered, and only plain names are stored.

ADDRESS = ("127.0.0.1", 53)
MESSAGE_BYTES_MAX = 512  # RFC 1035, section 4.2.1
ANSWERS_MAX = 64  # per turn, before the supervisor checks limits and orders again
HEADER = struct.Struct("!6H")
IS_ANSWER, RECURSION_DESIRED, RECURSION_AVAILABLE, OPCODE = 0x8000, 0x0100, 0x0080, 0x7800
NO_SUCH_NAME = 3
LABEL_BYTES_MAX, NAME_BYTES_MAX = 63, 253
PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
IPV4_ADDRESS = 1
ADDRESSES = frozenset((IPV4_ADDRESS, 28, 65))  # the types of question that ask for a host


def serve_names() -> socket.socket | None:
    """Open the name server's socket; None if the kernel refuses it: then nobody answers."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        server.setblocking(False)
        server.bind(ADDRESS)
    except OSError:
        server.close()
        return None
    return server


def answer_names(server: socket.socket, refused: RefusedCounts) -> None:
    """Answer the questions that wait now."""
    for _ in range(ANSWERS_MAX):
        try:
            question, client = server.recvfrom(MESSAGE_BYTES_MAX)
        except OSError:  # no more questions, or the client is gone
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
    """Read a question: the answer "no such name", the name ("" if it is not plain), and the type.

    Raises:
        ValueError, struct.error, IndexError: it is not a single question.
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
