"""The messages between the server and a container's agent, typed, and their frames."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

from executor.spawner.messages import FromSupervisor


class Hello(TypedDict):
    """The first message of an agent after its start."""

    protocol: int
    landlock: int
    pid: int
    uid: int
    exposed: list[int]  # descriptors that a program's user could open


class FoundCandidate(TypedDict):
    """A toolchain in the image."""

    toolchain: str
    paths: dict[str, str]
    real_paths: dict[str, str]
    fingerprint: list[tuple[str, int, int]]
    env: dict[str, str]


class FromAgent(FromSupervisor, total=False):
    """Everything that an agent says; each message has some of it."""

    hello: Hello
    discovered: dict[str, list[FoundCandidate]]  # by language
    connected: int  # the port on which a program has connected
    channel: int
    channels: list[int]  # of the descriptors that come with a message


class AgentOrder(TypedDict):
    """An order to an agent. A descriptor is given as its channel, with its kind or its size."""

    order: str
    size: int
    channels: list[tuple[int, int | str]]
    listen: NotRequired[list[int]]


# One byte stream each way carries frames: a header of kind, channel and length, then that many
# bytes. The server sends ORDERs, the agent MESSAGEs; both hold JSON behind a 4-byte length and then
# raw bytes. What programs read and write, and what they say to the proxy, goes by numbered
# channels: DATA with their bytes, END when no more come. Each channel has at most WINDOW_BYTES
# under way; ACK says how many were delivered. So a channel that nobody reads blocks no other.
#
# Orders: `discover`; `cell` with its description, then `run`, `begin`, `interrupt`, `report`,
# `stop`, `undo` as in `spawner.messages`. `channels` of an order lists its descriptors behind the
# description: what the program reads is (number, "read"), what it writes (number, "written"), and
# (0, size) is input of which all follows the description. Messages: {"hello": …} once, then what
# the supervisor says. {"artifacts": …} comes with the numbers of channels on which their contents
# follow; {"connected": port} opens one.

PROTOCOL = 1  # of what an agent must speak for this server
ORDER, MESSAGE, DATA, END, ACK = range(5)
HEADER = struct.Struct("!BII")
LENGTH = struct.Struct("!I")
CHUNK_BYTES = 64 * 1024
WINDOW_BYTES = 1024 * 1024
ACK_BYTES = WINDOW_BYTES // 4  # delivered bytes are acknowledged by so many at once
# Channels that the agent opens have numbers above all that the server gives.
AGENT_CHANNELS = 1 << 30
FRAME_BYTES_MAX = 1 << 30


class BrokenStreamError(Exception):
    """The received data is not a frame."""


def frame(kind: int, channel: int, content: bytes = b"") -> bytes:
    return HEADER.pack(kind, channel, len(content)) + content


def pack(said: FromAgent | AgentOrder, content: bytes = b"") -> bytes:
    """Return the content of an ORDER or MESSAGE."""
    text = json.dumps(said).encode()
    return LENGTH.pack(len(text)) + text + content


def unpack(content: bytes) -> tuple[dict[str, object], bytes]:
    """Return the arguments of `pack`; the types of the fields are not checked.

    Raises:
        BrokenStreamError: the content was not made by `pack`.
    """
    try:
        (length,) = LENGTH.unpack_from(content)
        said = json.loads(content[LENGTH.size : LENGTH.size + length])
    except (ValueError, struct.error) as error:
        raise BrokenStreamError(str(error)) from error
    if not isinstance(said, dict):
        raise BrokenStreamError("not an object")
    return said, content[LENGTH.size + length :]


def parse_acknowledged(content: bytes) -> int:
    """Return the number of bytes that an ACK is about."""
    return int.from_bytes(content, "big")


@dataclass(slots=True)
class Frames:
    """Takes a stream's bytes as they come and gives whole frames."""

    _held: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Yield (kind, channel, content) of every frame that is complete now.

        Raises:
            BrokenStreamError: this is not a stream of frames.
        """
        self._held += data
        while len(self._held) >= HEADER.size:
            kind, channel, length = HEADER.unpack_from(self._held)
            if kind > ACK or length > FRAME_BYTES_MAX:
                raise BrokenStreamError(f"kind {kind}, {length} bytes")
            if len(self._held) < HEADER.size + length:
                return
            content = bytes(memoryview(self._held)[HEADER.size : HEADER.size + length])
            del self._held[: HEADER.size + length]
            yield kind, channel, content
