"""A stream that a worker handed back, captured here as one of a local run is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from executor.engine.engine import FileSpool
from executor.model import Limits, Result, Status, Stream
from executor.run.capture import HEAD_SHARE, Capture, cut_head, cut_tail
from fleet.errors import OutcomeError
from fleet.handed_files import ReturnedBlobs, output_bytes_max
from fleet.tree import Digest

COUNTED_MAX: Final = 2**50
"""Bytes that a run can print at all: a petabyte takes days."""


@dataclass(frozen=True, slots=True)
class StreamTerms:
    """How a stream is captured: how much of it a result holds, and whether more was discarded."""

    inline_bytes: int
    may_be_cut: bool


def check_streams(result: Result, limits: Limits) -> None:
    """Refuse streams of a result that are more than its run may print, or count wrongly.

    Raises:
        OutcomeError: it says what.
    """
    shown = 0
    for stream in (result.stdout, result.stderr):
        counts = (stream.bytes_total, stream.lines_total, stream.bytes_omitted)
        if not all(0 <= count <= COUNTED_MAX for count in (*counts, stream.lines_omitted)):
            raise OutcomeError("its output is counted wrongly")
        shown += len(_bytes(stream.head)) + len(_bytes(stream.tail))
    # A byte that is no text takes three in its place.
    if shown > 3 * output_bytes_max(limits):
        raise OutcomeError(f"its output shows {shown:,} bytes")


async def capture(
    told: Stream, whole: Digest | None, blobs: ReturnedBlobs, spool: Path, terms: StreamTerms
) -> tuple[Stream, FileSpool | None]:
    """Capture a stream as a local run's, and give a handle to all of it, if that is more.

    It is made from the `whole` of the stream, if it came, else from what the worker told.

    Raises:
        OutcomeError: neither is the whole stream.
        BlobError, UnreachableError, OSError: see `bring_back`.
    """
    if whole is None and told.truncated and not terms.may_be_cut:
        raise OutcomeError("it has not the whole of its output")
    taken = Capture(spool, terms.inline_bytes)
    try:
        if whole is None:
            taken.feed(_bytes(told.head))
        else:
            await blobs.get(whole, taken.feed)
    finally:
        taken.close()
    stream = taken.stream()
    if terms.may_be_cut and told.truncated and told.bytes_total > taken.bytes_total:
        stream = _with_discarded(stream, told, terms.inline_bytes)
    elif whole is None and told.binary and not stream.truncated:
        # What was no text was replaced at the worker, and counted as it was.
        total = min(told.bytes_total, taken.bytes_total)
        stream = replace(stream, bytes_total=total, binary=True)
    return stream, taken.spool


def may_be_cut(result: Result, *, drains: bool) -> bool:
    """Whether a stream may have been longer than what came of it."""
    return drains or result.status is Status.OUTPUT_LIMIT


def _with_discarded(stream: Stream, told: Stream, inline_bytes: int) -> Stream:
    """A stream of which only the beginning came, with the end and the counts that were told."""
    share = int(inline_bytes * HEAD_SHARE)
    head = cut_head(_bytes(stream.head), share)
    tail = cut_tail(_bytes(told.tail), inline_bytes - share)
    lines = head.count(b"\n") + tail.count(b"\n")
    return Stream(
        head=head.decode(errors="replace"),
        tail=tail.decode(errors="replace"),
        bytes_total=told.bytes_total,
        lines_total=told.lines_total,
        bytes_omitted=max(0, told.bytes_total - len(head) - len(tail)),
        lines_omitted=max(0, told.lines_total - lines),
        binary=stream.binary or told.binary,
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
