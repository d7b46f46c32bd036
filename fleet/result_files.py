"""The files of a worker's answer to an order: written at the worker, checked at the front."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from executor import (
    ARTIFACTS_MAX,
    MIB,
    STAND_IN_MARK,
    Artifact,
    Completed,
    Limits,
    ProjectAccess,
    Result,
    Status,
    Stream,
)
from executor.project import CONTENTS, Change, ChangeStore, Kept, UnknownChangesError
from executor.project.view import CHANGED_BYTES_MAX, open_tree
from executor.run import safe_name
from fleet import model
from fleet.model import BYTES_MAX as FORM_BYTES_MAX
from fleet.model import FormError, Order, Outcome, OutcomeError, has_content
from fleet.tree import Digest

OUTCOME_FILE: Final = "outcome.json"
STREAM_FILES: Final = ("stdout", "stderr")
CHANGED_FILE: Final = "changed"
"""The contents of changed files one after the other, in the outcome's order."""
ARTIFACTS_FOLDER: Final = "artifacts"
RESULT_BYTES_MAX: Final = 4 * MIB
"""Limit of a result's form without its streams."""
OUTPUT_SLACK_BYTES: Final = 4 * MIB
"""Output that may arrive beyond the limit until a program ends: chunks in transit, full pipes."""


COUNTED_MAX: Final = 2**50
"""Limit of the bytes that a run can print at all: a petabyte takes days."""


def output_bytes_max(limits: Limits) -> int:
    """Return the limit of both streams together."""
    return limits.output_bytes + OUTPUT_SLACK_BYTES


def check_files(files: Mapping[str, Digest], order: Order) -> None:
    """Refuse files that no run of this order can have.

    Raises:
        OutcomeError: the outcome is missing, or a file is unexpected or too large.
    """
    if OUTCOME_FILE not in files:
        raise OutcomeError("it has no outcome")
    artifacts = {name: one for path, one in files.items() if (name := artifact_name(path))}
    known = {OUTCOME_FILE, *STREAM_FILES, CHANGED_FILE}
    if strange := {path for path in files if not artifact_name(path)} - known:
        raise OutcomeError(f"{min(strange)[:200]!r} is not a file of an outcome")
    _check_size("the outcome", files[OUTCOME_FILE].size_bytes, FORM_BYTES_MAX)
    streams = sum(files[name].size_bytes for name in STREAM_FILES if name in files)
    _check_size("the output", streams, output_bytes_max(order.limits))
    if len(artifacts) > ARTIFACTS_MAX:
        raise OutcomeError(f"it has {len(artifacts)} artifacts; the limit is {ARTIFACTS_MAX}")
    size = sum(one.size_bytes for one in artifacts.values())
    _check_size("the artifacts", size, order.limits.artifact_bytes)
    if CHANGED_FILE in files:
        commits = order.profile.project is ProjectAccess.COMMIT
        _check_size(
            "the changed files", files[CHANGED_FILE].size_bytes, CHANGED_BYTES_MAX if commits else 0
        )


def artifact_name(path: str) -> str:
    """Return the name of an artifact by its path among the files; empty for any other path."""
    folder, _, name = path.partition("/")
    return name if folder == ARTIFACTS_FOLDER and name and safe_name(name) == name else ""


def _check_size(what: str, size: int, most: int) -> None:
    if size > most:
        raise OutcomeError(f"{what}: {size:,} bytes; the limit is {most:,}")


def check_outcome(outcome: Outcome, files: Mapping[str, Digest], order: Order) -> None:
    """Check an outcome against its order, and against the files that came with it.

    Raises:
        OutcomeError: they do not match.
    """
    if outcome.run_id != order.run_id:
        raise OutcomeError(f"it belongs to run {outcome.run_id}, not to {order.run_id}")
    result = outcome.result
    _check_streams(result, order.limits)
    rest = replace(result, stdout=Stream(), stderr=Stream()).to_json()
    try:
        size = len(json.dumps(rest, ensure_ascii=False).encode())
    except UnicodeEncodeError as error:
        raise OutcomeError("its result holds half a character") from error
    if size > RESULT_BYTES_MAX:
        raise OutcomeError(f"its result has {size:,} bytes; the limit is {RESULT_BYTES_MAX:,}")
    came = {name: one.size_bytes for path, one in files.items() if (name := artifact_name(path))}
    told = {one.path: one.bytes for one in result.artifacts if one.path is not None}
    if told != came:
        raise OutcomeError("the artifacts of the result are not those that were uploaded")
    if outcome.changed and not (
        order.profile.project is ProjectAccess.COMMIT and has_ended(result)
    ):
        raise OutcomeError("it changed files, and none may be changed")
    size = sum(one.size for one in outcome.changed if has_content(one))
    there = files[CHANGED_FILE].size_bytes if CHANGED_FILE in files else 0
    if size != there:
        raise OutcomeError(f"{size:,} bytes of changed files were listed, and {there:,} arrived")


def has_ended(result: Result) -> bool:
    """Return whether the supervisor saw the run end: only then is anything committed."""
    return result.exit_code is not None or result.signal is not None


def _check_streams(result: Result, limits: Limits) -> None:
    """Refuse streams of a result that exceed the limit of its run, or have wrong counts.

    Raises:
        OutcomeError: with the reason.
    """
    shown = 0
    for stream in (result.stdout, result.stderr):
        counts = (stream.bytes_total, stream.lines_total, stream.bytes_omitted)
        if not all(0 <= count <= COUNTED_MAX for count in (*counts, stream.lines_omitted)):
            raise OutcomeError("its output is counted wrongly")
        shown += len(stream_bytes(stream.head)) + len(stream_bytes(stream.tail))
    # A byte that is not text is shown as three.
    if shown > 3 * output_bytes_max(limits):
        raise OutcomeError(f"its output shows {shown:,} bytes")


def stream_bytes(text: str) -> bytes:
    """Return the bytes that a stream's text stands for."""
    return text.encode("utf-8", "surrogateescape")


NAME_CHARACTERS_MAX = 60
"""Limit of an artifact's name without its number: `safe_name` accepts it unchanged."""


def hand_over(completed: Completed, order: Order, worker: str, changes: Path, out: Path) -> None:
    """Write the outcome of an order into an empty folder; streams and artifacts are moved there.

    `worker` is the worker's name. `changes` is the folder in which its engine stores change sets:
    the run's is copied from there; the caller drops it.

    Raises:
        OSError: the disk is full, or a file is gone.
    """
    room = output_bytes_max(order.limits)
    for name, spool in zip(
        STREAM_FILES, (completed.stdout_spool, completed.stderr_spool), strict=True
    ):
        if spool is not None:
            room -= _move_stream(spool, out / name, room)
    artifacts = _move_artifacts(completed.result.artifacts, out / ARTIFACTS_FOLDER)
    result = replace(
        completed.result, artifacts=artifacts, changes_id=None, output_id=None, persists=False
    )
    kept = _find_kept(completed.result.changes_id, changes)
    if order.profile.project is ProjectAccess.COMMIT:  # the front's commit adds them
        result = replace(result, changed_files=(), changed_files_omitted=0)
    changed = () if kept is None else tuple(_tell(c) for c in kept.changes if not _stands_in(c))
    try:
        form = model.encode(Outcome(order.run_id, worker, result, changed))
    except FormError:
        if not changed:
            raise
        form = model.encode(Outcome(order.run_id, worker, _too_much(result, len(changed))))
    else:
        if kept is not None and any(map(has_content, changed)):
            _copy_contents(changes / "kept" / kept.id / CONTENTS, changed, out / CHANGED_FILE)
    (out / OUTCOME_FILE).write_bytes(form)


def _move_stream(spool: Path, target: Path, room: int) -> int:
    """Move a whole stream, or its first `room` bytes; return how many."""
    try:
        spool.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        target.write_bytes(spool.read_bytes())
        spool.unlink(missing_ok=True)
    size = target.stat().st_size
    if size > room:  # bytes that arrived until the program was ended
        os.truncate(target, max(0, room))
    return min(size, max(0, room))


def _move_artifacts(artifacts: Iterable[Artifact], folder: Path) -> tuple[Artifact, ...]:
    """Return the artifacts with their names in `folder`, after moving them there."""
    moved = []
    for number, one in enumerate(artifacts, 1):
        if one.path is None:
            moved.append(one)
            continue
        name = f"{number:02d}-{safe_name(one.name)[-NAME_CHARACTERS_MAX:]}"
        folder.mkdir(mode=0o700, exist_ok=True)
        shutil.move(one.path, folder / name)
        moved.append(replace(one, path=name))
    return tuple(moved)


def _find_kept(changes_id: str | None, changes: Path) -> Kept | None:
    """Return the run's changes, as the engine stores them; None if there are none.

    Raises:
        OSError: they are gone.
    """
    if changes_id is None:
        return None
    try:
        return ChangeStore(changes).get(changes_id)
    except UnknownChangesError as error:
        raise OSError(errno.ENOENT, f"the run's changes are gone: {error}") from error


def _stands_in(change: Change) -> bool:
    """Return whether the entry only stood in for a hidden one."""
    return any(name == STAND_IN_MARK for name, _ in change.xattrs)


def _tell(change: Change) -> Change:
    """Return a change without what only this machine has: attributes, and the state from before."""
    target = change.target if change.change != "deleted" else ""
    return replace(change, target=target, xattrs=(), before=None, before_sha256="")


def _too_much(result: Result, count: int) -> Result:
    """Return the result of a run that has more changes than an outcome can list."""
    return replace(
        result,
        status=Status.SANDBOX_ERROR,
        exit_code=None,
        signal=None,
        message=f"no changes were committed: {count:,} entries are more than a worker can "
        "report; write to a folder outside the project, or split the work into several runs",
    )


def _copy_contents(contents: Path, changed: Iterable[Change], target: Path) -> None:
    """Write the contents of changed files one after the other.

    Raises:
        OSError: a file has changed, or the disk is full.
    """
    with open_tree(contents) as tree, open(target, "xb") as out:
        for one in filter(has_content, changed):
            with open(tree.open(one.path), "rb") as content:
                if os.fstat(content.fileno()).st_size != one.size:
                    raise OSError(errno.EIO, "it differs from the stored content", one.path)
                shutil.copyfileobj(content, out, MIB)
