"""Files that a worker may hand back for an order, and its streams as those of a local run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from executor.engine.engine import FileSpool
from executor.model import MIB, Limits, Result, Status, Stream
from executor.profile import ProjectAccess
from executor.project.view.limits import BYTES_MAX
from executor.run.artifacts import safe_name
from executor.run.capture import HEAD_SHARE, Capture, cut_head, cut_tail
from executor.spawner.artifacts import COUNT_MAX
from fleet.errors import OutcomeError
from fleet.forms import BYTES_MAX as FORM_BYTES_MAX
from fleet.model import Order
from fleet.tree import Digest

if TYPE_CHECKING:
    from fleet.dask.blobs import FileBlobs

OUTCOME_FILE: Final = "outcome.json"
STREAM_FILES: Final = ("stdout", "stderr")
CHANGED_FILE: Final = "changed"
"""Contents of changed files one after the other, in the outcome's order."""
ARTIFACTS_FOLDER: Final = "artifacts"
OUTPUTS: Final = (OUTCOME_FILE, *STREAM_FILES, CHANGED_FILE, ARTIFACTS_FOLDER)
OUTPUT_SLACK_BYTES: Final = 4 * MIB
"""What may come beyond the limit until a program is ended: chunks under way, and full pipes."""


COUNTED_MAX: Final = 2**50
"""Bytes that a run can print at all: a petabyte takes days."""


@dataclass(frozen=True, slots=True)
class ReturnedBlobs:
    """Blobs of which some came along already."""

    contents: Mapping[Digest, bytes]
    store: FileBlobs

    async def get(self, digest: Digest, write: Callable[[bytes], object]) -> None:
        """Pass a blob to `write`; see `FileBlobs.get`."""
        content = self.contents.get(digest)
        if content is None:
            await self.store.get(digest, write)
        else:
            write(content)


def output_bytes_max(limits: Limits) -> int:
    """How many bytes both streams may have in all."""
    return limits.output_bytes + OUTPUT_SLACK_BYTES


def check_files(files: Mapping[str, Digest], order: Order) -> None:
    """Refuse files that no run of this order has.

    Raises:
        OutcomeError: the outcome is missing, or there is a file too many, or too large.
    """
    if OUTCOME_FILE not in files:
        raise OutcomeError("it has no outcome")
    artifacts = {name: one for path, one in files.items() if (name := artifact_name(path))}
    known = {OUTCOME_FILE, *STREAM_FILES, CHANGED_FILE}
    if strange := {path for path in files if not artifact_name(path)} - known:
        raise OutcomeError(f"{min(strange)[:200]!r} is no file of an outcome")
    _check_size("the outcome", files[OUTCOME_FILE].size_bytes, FORM_BYTES_MAX)
    streams = sum(files[name].size_bytes for name in STREAM_FILES if name in files)
    _check_size("the output", streams, output_bytes_max(order.limits))
    if len(artifacts) > COUNT_MAX:
        raise OutcomeError(f"it has {len(artifacts)} artifacts, and {COUNT_MAX} is the most")
    size = sum(one.size_bytes for one in artifacts.values())
    _check_size("the artifacts", size, order.limits.artifact_bytes)
    if CHANGED_FILE in files:
        commits = order.profile.project is ProjectAccess.COMMIT
        _check_size("what it changed", files[CHANGED_FILE].size_bytes, BYTES_MAX if commits else 0)


def artifact_name(path: str) -> str:
    """The name of an artifact by its path among the files; empty for any other path."""
    folder, _, name = path.partition("/")
    return name if folder == ARTIFACTS_FOLDER and name and safe_name(name) == name else ""


def _check_size(what: str, size: int, most: int) -> None:
    if size > most:
        raise OutcomeError(f"{what} has {size:,} bytes, and {most:,} is the most")


@dataclass(frozen=True, slots=True)
class StreamTerms:
    """Bounds of a captured stream: how much a result holds, and whether more was discarded."""

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
    # A byte that is not text takes three in its place.
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
        # What is not text was replaced at the worker, and counted as it was.
        total = min(told.bytes_total, taken.bytes_total)
        stream = replace(stream, bytes_total=total, binary=True)
    return stream, taken.spool


def may_be_cut(result: Result, *, drains: bool) -> bool:
    """Tell whether a stream may have been longer than what came of it."""
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
