"""Messages between a command and the shared instance: a frame of parts, each a frame of bytes."""

from __future__ import annotations

import os

from base.frames import take_frame, to_frame

HELLO = b"context-mode 1\n"
"""Greeting of an instance that accepts requests."""

GREETING_S_MAX = 0.2
"""A working instance greets at once; without a greeting a command works by itself."""

ANSWER_S_MAX = 30.0
"""Longer than any answer of a hook takes: its own limits are shorter."""

TAKEN_S_MAX = 3.0
BEAT_S = 20.0
SILENCE_S_MAX = 90.0
"""An instance that works for a command says so every BEAT_S; after this silence it is lost."""

BYTES_MAX = 64 << 20
"""Size limit of a message. A hook's event may contain a whole file."""

RECEIVE_BYTES = 1 << 18
TAKEN, REFUSED, BEAT, DONE = b"taken", b"refused", b"beat", b"done"
"""Kinds of answers to a request: it is accepted; the command must work by itself; the instance
works; the result."""

GO, SIGNAL = b"go", b"signal"
"""Kinds of messages to it: the command still waits; it got a signal."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def pack(*parts: bytes) -> bytes:
    """Write a message."""
    return to_frame(b"".join(map(to_frame, parts)))


def unpack(frame: bytes) -> list[bytes]:
    """Read the parts of a message."""
    data, parts = bytearray(frame), []
    while data and (part := take_frame(data)) is not None:
        parts.append(part)
    return parts


def pack_request(arguments: Sequence[str], mask: int, errors: str, given: bytes) -> bytes:
    """Write the request of this process: its arguments, working folder, umask, way to treat
    characters that cannot be encoded, environment, and input that was read already."""
    words = [os.fsencode(one) for one in arguments]
    variables = [b"%b=%b" % pair for pair in os.environb.items()]
    head = (os.fsencode(os.getcwd()), b"%o" % mask, errors.encode(), given)
    return pack(*head, b"%d" % len(words), *words, *variables)


class CommandLine:
    """A request as the instance reads it.

    Attributes:
        folder: the working folder.
        mask: the umask.
        errors: the error handler of the standard streams.
        given: input that the command has read already.
    """

    __slots__ = ("arguments", "environ", "errors", "folder", "given", "mask")

    def __init__(self, frame: bytes) -> None:
        folder, mask, errors, self.given, count, *rest = unpack(frame)
        self.folder = os.fsdecode(folder)
        self.mask = int(mask, 8)
        self.errors = errors.decode()
        self.arguments = [os.fsdecode(one) for one in rest[: int(count)]]
        pairs = (one.partition(b"=") for one in rest[int(count) :])
        self.environ: Mapping[str, str] = {
            os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs
        }
