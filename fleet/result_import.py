"""A worker's answer, checked and moved to where a run's outcome is at the front."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

from executor import Artifact, Completed, LeftOut, ProjectAccess, Result, Status, Stream, readable
from executor.instance import remove
from executor.project import LISTED_MAX
from executor.project.view import FOLDER_FLAGS, Record
from executor.run import HEAD_SHARE, Capture, RemoteCommits, cut_head, cut_tail, safe_name
from fleet import model
from fleet.model import Delivery, FormError, Order, Outcome, OutcomeError
from fleet.result_files import (
    ARTIFACTS_FOLDER,
    CHANGED_FILE,
    OUTCOME_FILE,
    STREAM_FILES,
    check_files,
    check_outcome,
    has_ended,
    stream_bytes,
)
from fleet.returned_changes import as_change_set, cut_contents

if TYPE_CHECKING:
    from fleet.dask.blobs import FileBlobs

CONTENTS_FOLDER: Final = "contents"


@dataclass(frozen=True, slots=True)
class Landing:
    """The import of a run's outcome from a worker, and its place at the front.

    Attributes:
        record: `commits.record(profile)` from before the snapshot, if the profile commits; None if
            it was lost with another front.
        unseen: paths that the snapshot left out; changes there, or below, are not committed.
    """

    delivery: Delivery
    blobs: FileBlobs
    order: Order
    folder: Path  # private, empty at first: for spools and copies of artifacts
    inline_bytes: int  # limit of each stream in the result
    commits: RemoteCommits  # the engine's
    label: str = ""  # the program, as named where changes are stored
    record: Record | None = None
    unseen: frozenset[str] = frozenset()

    async def bring_back(self) -> Completed:
        """Fetch a worker's answer, check all of it, and commit the run's changes.

        The result is like that of a local run, even if a commit fails. After an error nothing is
        left in the folder or the project.

        Raises:
            OutcomeError: the outcome is missing, of another run, or more than the order allows.
            BlobError, UnreachableError: the answer cannot be fetched.
            RequestError, SandboxUnavailableError: without a record, none can be made of the
                project.
            OSError: the front's disk is full.
        """
        try:
            check_files(self.delivery.files, self.order)
            outcome = await self._read()
            check_outcome(outcome, self.delivery.files, self.order)
            return await self._take(outcome)
        except BaseException:
            for entry in tuple(self.folder.iterdir()):
                remove(entry)
            raise
        finally:
            if self.record is not None:
                self.record.close()

    async def _get(self, path: str, write: Callable[[bytes], object]) -> None:
        """Pass the content of a file to `write`: sent with the answer, or an engine's blob."""
        digest = self.delivery.files[path]
        content = self.delivery.contents.get(digest)
        if content is None:
            await self.blobs.get(digest, write)
        else:
            write(content)

    async def _read(self) -> Outcome:
        """Return the outcome itself.

        Raises:
            OutcomeError: it is not an outcome.
        """
        form = bytearray()
        await self._get(OUTCOME_FILE, form.extend)
        try:
            return await trio.to_thread.run_sync(model.decode, Outcome, bytes(form))
        except FormError as error:
            raise OutcomeError(str(error)) from error

    async def _take(self, outcome: Outcome) -> Completed:
        """Return the outcome in the form of a local run's."""
        told = outcome.result
        is_cut = self.order.request.drain or told.status is Status.OUTPUT_LIMIT
        (stdout, stdout_spool), (stderr, stderr_spool) = [
            await self._capture(name, stream, is_cut=is_cut)
            for name, stream in zip(STREAM_FILES, (told.stdout, told.stderr), strict=True)
        ]
        result = replace(
            told,
            stdout=stdout,
            stderr=stderr,
            artifacts=await self._take_artifacts(told.artifacts),
            not_committed=(),
            changes_id=None,
            persists=False,
            output_id=None,
            profile=self.order.profile.name,
            session=None,
            worker=outcome.worker,
        )
        if self.order.profile.project is ProjectAccess.COMMIT and has_ended(told):
            result = await self._commit(outcome, result)
        return Completed(result, stdout_spool, stderr_spool)

    async def _capture(
        self, name: str, told: Stream, *, is_cut: bool
    ) -> tuple[Stream, Path | None]:
        """Capture a stream as a local run does; return a path to all of it if that is more.

        The source is the whole stream, if it was sent, else the text in the worker's result. A
        stream that `is_cut` may have been longer than its file.

        Raises:
            OutcomeError: neither is the whole stream.
        """
        came = name in self.delivery.files
        if told.truncated and not came and not is_cut:
            raise OutcomeError("its output is incomplete")
        taken = Capture(self.folder / name, self.inline_bytes)
        try:
            if came:
                await self._get(name, taken.feed)
            else:
                taken.feed(stream_bytes(told.head))
        finally:
            taken.close()
        stream = taken.stream()
        if is_cut and told.truncated and told.bytes_total > taken.bytes_total:
            stream = _with_discarded(stream, told, self.inline_bytes)
        elif told.binary and not came and not stream.truncated:
            # Bytes that are not text were replaced at the worker, and counted as they were.
            total = min(told.bytes_total, taken.bytes_total)
            stream = replace(stream, bytes_total=total, binary=True)
        return stream, taken.spool

    async def _take_artifacts(self, artifacts: Sequence[Artifact]) -> tuple[Artifact, ...]:
        """Copy artifacts into the folder, named like those of a local run."""
        taken = []
        for number, one in enumerate((a for a in artifacts if a.path is not None), 1):
            target = self.folder / f"{number:02d}-{safe_name(one.name)}"
            copy = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(copy, "wb") as out:
                await self._get(f"{ARTIFACTS_FOLDER}/{one.path}", out.write)
            taken.append(Artifact(readable(one.name), one.bytes, str(target)))
        skipped = [Artifact(readable(a.name), reason=a.reason) for a in artifacts if a.path is None]
        return (*taken, *skipped)

    async def _commit(self, outcome: Outcome, result: Result) -> Result:
        """Commit the run's changes, or hold them for review if the record from before is gone."""
        record = self.record or await self.commits.record(self.order.profile)
        if record is None:
            raise RuntimeError("a profile that commits has a record")
        record = replace(record, hidden=record.hidden | self.unseen)
        refused = [
            LeftOut(left.path, left.reason, left.kind)
            for left in outcome.result.not_committed
            if left.kind == "refused"
        ]
        folder = self.folder / CONTENTS_FOLDER
        folder.mkdir(mode=0o700)
        try:
            contents = await self._take_contents(outcome, folder)
            read = partial(as_change_set, outcome.changed, refused[:LISTED_MAX], record, contents)
            try:
                changes = await trio.to_thread.run_sync(read)
            except BaseException:
                os.close(contents)
                raise
            stage = self.order.profile.stage or self.record is None
            committed = await self.commits.bring_in(result, changes, self.label, stage=stage)
        finally:
            record.close()
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(partial(shutil.rmtree, ignore_errors=True), folder)
        return committed if self.record is not None else _with_note(committed)

    async def _take_contents(self, outcome: Outcome, folder: Path) -> int:
        """Write the contents of changed files; return a descriptor of their folder."""
        whole = self.folder / CHANGED_FILE
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(whole, flags, 0o600), "w+b") as file:
            if CHANGED_FILE in self.delivery.files:
                await self._get(CHANGED_FILE, file.write)
            file.seek(0)
            top = os.open(folder, FOLDER_FLAGS)
            try:
                await trio.to_thread.run_sync(cut_contents, file, outcome.changed, top)
            except BaseException:
                os.close(top)
                raise
        whole.unlink()
        return top


def _with_discarded(stream: Stream, told: Stream, inline_bytes: int) -> Stream:
    """Return a stream of which only the beginning was sent, with the result's end and counts."""
    share = int(inline_bytes * HEAD_SHARE)
    head = cut_head(stream_bytes(stream.head), share)
    tail = cut_tail(stream_bytes(told.tail), inline_bytes - share)
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


def _with_note(result: Result) -> Result:
    """Return the result of a run that another front had sent, with a note."""
    note = "its front ended before it; its changes are held for review"
    message = f"{result.message}; {note}" if result.message else note
    return replace(result, message=message) if result.changes_id else result
