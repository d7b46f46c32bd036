"""Queue of large outputs: their beginning and end are indexed at once. The rest is queued in the
store and indexed a slice at a time, from a spool file that is then deleted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kb.packing import CAP_BYTES, code_point_boundary

HEAD_BYTES = 1024 * 1024
TAIL_BYTES = 256 * 1024
"""The amount that is indexed while an answer is waited for: a quarter of a second's work."""

SLICE_BYTES = 256 * 1024
TRANSACTION_SLICES = 2
"""The number of slices chunked at once and stored in one transaction: short enough that other
writers hardly wait."""

_READ_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SpoolPart:
    """Some bytes of a spool file, and their position in the whole stream."""

    data: bytes
    start: int
    line: int

    @property
    def end(self) -> int:
        return self.start + len(self.data)

    @property
    def end_line(self) -> int:
        """Return the line of the byte after this part."""
        return self.line + self.data.count(b"\n")


@dataclass(frozen=True, slots=True)
class Queued:
    """A row of the queue: bytes of a spool that are still to be indexed."""

    id: int
    source_id: int
    spool: Path
    next_byte: int  # the first
    end_byte: int  # the byte after the last
    next_line: int
    state: str | None  # the state after chunking the bytes before these

    def behind(self, done: SpoolPart, state: str | None) -> Queued | None:
        """Return the row after a slice that left `state`; None if that was the last."""
        if done.end >= self.end_byte:
            return None
        return replace(self, next_byte=done.end, next_line=done.end_line, state=state)


def head_and_tail(
    spool: Path, head_bytes: int, tail_bytes: int
) -> tuple[SpoolPart, SpoolPart | None]:
    """Read the beginning and the end of a spool file, cut between lines if those are not too long.

    The second is None if the first is the whole file.

    Raises:
        OSError: the file cannot be read.
    """
    size = spool.stat().st_size
    with spool.open("rb") as stream:
        if size <= head_bytes + tail_bytes:
            return SpoolPart(stream.read(), 0, 1), None
        head = cut_between_lines(stream.read(head_bytes))
        stream.seek(size - tail_bytes)
        tail = stream.read(tail_bytes)
    first_line_end = tail.find(b"\n", 0, CAP_BYTES) + 1
    if not first_line_end:
        first_line_end = next((at for at in range(4) if tail[at] & 0xC0 != 0x80), 0)
    start = size - tail_bytes + first_line_end
    lines = sum(block.count(b"\n") for block in _blocks(spool, start))
    return SpoolPart(head, 0, 1), SpoolPart(tail[first_line_end:], start, lines + 1)


def cut_between_lines(data: bytes) -> bytes:
    """Return `data` without an unfinished last line, or without an unfinished character if the last
    line is longer than any chunk."""
    end = data.rfind(b"\n", max(0, len(data) - CAP_BYTES)) + 1
    return data[:end] if end else data[: code_point_boundary(data + b" ", len(data) - 3)]


def _blocks(path: Path, end: int) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while end > 0 and (block := stream.read(min(_READ_BYTES, end))):
            end -= len(block)
            yield block


def enqueue(  # noqa: PLR0913, PLR0917 - one value a column
    db: sqlite3.Connection,
    source_id: int,
    spool: Path,
    head: SpoolPart,
    tail: SpoolPart,
    state: str | None,
) -> None:
    """Queue the spool's bytes between its head, which left `state`, and its tail."""
    db.execute(
        "INSERT INTO pending (source_id, spool, next_byte, end_byte, next_line, state)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (source_id, str(spool), head.end, tail.start, head.end_line, state),
    )


def drop(db: sqlite3.Connection, queued: Queued) -> None:
    """Give up a range whose spool file is gone; its source stays incomplete."""
    db.execute("DELETE FROM pending WHERE id = ?", (queued.id,))


def next_queued(db: sqlite3.Connection, source_id: int | None = None) -> Queued | None:
    """Return the oldest row of the queue, or of one source's."""
    row = db.execute(
        "SELECT id, source_id, spool, next_byte, end_byte, next_line, state FROM pending"
        " WHERE ? IS NULL OR source_id = ? ORDER BY id",
        (source_id, source_id),
    ).fetchone()
    return None if row is None else Queued(row[0], row[1], Path(row[2]), *row[3:])


def read_slice(queued: Queued, limit: int) -> SpoolPart:
    """Read the next bytes of a queued range, at most `limit` and cut between lines.

    Raises:
        OSError: the spool file is gone or shorter than when it was queued.
    """
    size = min(limit, queued.end_byte - queued.next_byte)
    with queued.spool.open("rb") as stream:
        stream.seek(queued.next_byte)
        data = stream.read(size)
    if len(data) < size:
        raise OSError(f"{queued.spool} is shorter than when it was queued")
    if queued.next_byte + size < queued.end_byte:
        data = cut_between_lines(data)
    return SpoolPart(data, queued.next_byte, queued.next_line)


def advance(db: sqlite3.Connection, queued: Queued, done: SpoolPart, state: str | None) -> bool:
    """Record that a slice is indexed, which left `state`; return True if it was the last of its
    spool file."""
    if rest := queued.behind(done, state):
        db.execute(
            "UPDATE pending SET next_byte = ?, next_line = ?, state = ? WHERE id = ?",
            (rest.next_byte, rest.next_line, rest.state, rest.id),
        )
        return False
    db.execute("DELETE FROM pending WHERE id = ?", (queued.id,))
    left = db.execute("SELECT 1 FROM pending WHERE spool = ?", (str(queued.spool),)).fetchone()
    return left is None
