"""All that a front asks of an engine: to keep blobs, and to have an order done by some worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Final, Protocol

from fleet.model import Lost, Ticket
from fleet.tree import Digest

LOST_MAX: Final = 3
"""Workers that one run may cost: what loses so many is what kills them. An engine that gives it to
one after the other by itself is to stop there."""

Open = Callable[[], BinaryIO]
"""Opens a blob's content from its beginning. It is called in a thread, perhaps more than once."""


class Source(Protocol):
    """Where blobs are had from."""

    async def get(self, digest: Digest, write: Callable[[bytes], object]) -> None:
        """Hand over a blob in pieces of a few MiB at most. All are void if this raises.

        Raises:
            BlobError: the engine lacks it, or sends something else.
            UnreachableError: the engine does not answer.
        """


class Blobs(Source, Protocol):
    """The blobs that an engine and its workers share, by digest."""

    async def missing(self, digests: Iterable[Digest]) -> frozenset[Digest]:
        """Those that the engine lacks.

        Raises:
            UnreachableError: the engine does not answer.
        """

    async def put(self, blobs: Mapping[Digest, Open]) -> None:
        """Have the engine keep blobs. Those that it has may be put again.

        Raises:
            BlobError: a content is not what its digest says, as of a file that changed meanwhile.
            OSError: a content can't be read.
            UnreachableError: the engine does not answer.
        """


@dataclass(frozen=True, slots=True)
class Placement:
    """How an order is to be done.

    `order` is its digest. `command` is the worker's program and its arguments, `root` the digest
    of the folder in which it starts, `outputs` the files and folders there that are handed back.
    `own` are the bytes of the order and of that folder, which no engine can have before.
    `properties` are pairs that a worker must have. `timeout_s` ends the command.
    The lowest `priority` goes first. Of two placements that are equal the engine may do one.
    """

    run_id: str
    owner: str
    order: Digest
    command: tuple[str, ...]
    root: Digest
    outputs: tuple[str, ...]
    properties: tuple[tuple[str, str], ...]
    timeout_s: float
    own: Mapping[Digest, bytes]
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a worker handed back: digests of files by path from the root.

    `contents` are those that came along, by digest, and checked against it. `worker` is its
    name, and `assign_s` how long the order waited for it, if the engine tells. `was_kept` means
    that an earlier run's was taken.
    """

    files: Mapping[str, Digest]
    worker: str | None = None
    was_kept: bool = False
    contents: Mapping[Digest, bytes] = field(default_factory=dict)
    assign_s: float | None = None


class Dispatcher(Protocol):
    """An engine that is open."""

    @property
    def blobs(self) -> Blobs:
        """What it keeps."""

    async def submit(self, placement: Placement) -> Ticket | Lost:
        """Have an order accepted. To ask again for an equal one joins what is under way.

        Raises:
            ClusterError: the engine will not have it, however often it is asked.
            UnreachableError: the engine does not answer; it may have accepted.
        """

    async def wait(self, ticket: Ticket) -> Delivery | Lost:
        """Wait for an order's end, however long. Cancelling this leaves the order as it is.

        Raises:
            UnreachableError: the engine does not answer; the order may be under way.
        """

    async def find_delay(self, ticket: Ticket) -> str:
        """Why no worker has begun an order, in words; empty if one has, or it can't be known.

        Raises:
            UnreachableError: the engine does not answer.
        """

    async def cancel(self, ticket: Ticket) -> None:
        """Have the engine end an order. One that has ended, or is not known, is none's business.

        Raises:
            UnreachableError: the engine does not answer.
        """
