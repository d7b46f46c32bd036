"""Files that a worker hands back for an order: written there, and what they are held against."""

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
from executor.project.view import CHANGED_BYTES_MAX, FOLDER_FLAGS, Tree
from executor.run import safe_name
from fleet import model
from fleet.errors import OutcomeError
from fleet.model import BYTES_MAX as FORM_BYTES_MAX
from fleet.model import FormError, Order, Outcome, has_content
from fleet.tree import Digest

OUTCOME_FILE: Final = "outcome.json"
STREAM_FILES: Final = ("stdout", "stderr")
CHANGED_FILE: Final = "changed"
"""Contents of changed files one after the other, in the outcome's order."""
ARTIFACTS_FOLDER: Final = "artifacts"
RESULT_BYTES_MAX: Final = 4 * MIB
"""Of a result's form, beside its streams: what is told to the caller."""
OUTPUT_SLACK_BYTES: Final = 4 * MIB
"""What may come beyond the limit until a program is ended: chunks under way, and full pipes."""


COUNTED_MAX: Final = 2**50
"""Bytes that a run can print at all: a petabyte takes days."""


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
    if len(artifacts) > ARTIFACTS_MAX:
        raise OutcomeError(f"it has {len(artifacts)} artifacts, and {ARTIFACTS_MAX} is the most")
    size = sum(one.size_bytes for one in artifacts.values())
    _check_size("the artifacts", size, order.limits.artifact_bytes)
    if CHANGED_FILE in files:
        commits = order.profile.project is ProjectAccess.COMMIT
        _check_size(
            "what it changed", files[CHANGED_FILE].size_bytes, CHANGED_BYTES_MAX if commits else 0
        )


def artifact_name(path: str) -> str:
    """The name of an artifact by its path among the files; empty for any other path."""
    folder, _, name = path.partition("/")
    return name if folder == ARTIFACTS_FOLDER and name and safe_name(name) == name else ""


def _check_size(what: str, size: int, most: int) -> None:
    if size > most:
        raise OutcomeError(f"{what} has {size:,} bytes, and {most:,} is the most")


def check_outcome(outcome: Outcome, files: Mapping[str, Digest], order: Order) -> None:
    """Hold an outcome against its order, and the files that came with it.

    Raises:
        OutcomeError: they don't fit.
    """
    if outcome.run_id != order.run_id:
        raise OutcomeError(f"it is of run {outcome.run_id}, not {order.run_id}")
    result = outcome.result
    _check_streams(result, order.limits)
    rest = replace(result, stdout=Stream(), stderr=Stream()).to_json()
    try:
        size = len(json.dumps(rest, ensure_ascii=False).encode())
    except UnicodeEncodeError as error:
        raise OutcomeError("its result holds half a character") from error
    if size > RESULT_BYTES_MAX:
        raise OutcomeError(f"its result has {size:,} bytes, and {RESULT_BYTES_MAX:,} is the most")
    came = {name: one.size_bytes for path, one in files.items() if (name := artifact_name(path))}
    told = {one.path: one.bytes for one in result.artifacts if one.path is not None}
    if told != came:
        raise OutcomeError("the artifacts of the result are not those that came")
    if outcome.changed and not (
        order.profile.project is ProjectAccess.COMMIT and has_ended(result)
    ):
        raise OutcomeError("it changed files, and none were to be changed")
    size = sum(one.size for one in outcome.changed if has_content(one))
    there = files[CHANGED_FILE].size_bytes if CHANGED_FILE in files else 0
    if size != there:
        raise OutcomeError(f"{size:,} bytes of changed files were told, and {there:,} came")


def has_ended(result: Result) -> bool:
    """Tell whether its supervisor saw a run's end: only then is anything committed."""
    return result.exit_code is not None or result.signal is not None


def _check_streams(result: Result, limits: Limits) -> None:
    """Refuse streams of a result that are more than its run may print, or count wrongly.

    Raises:
        OutcomeError: it says what.
    """
    shown = 0
    for stream in (result.stdout, result.stderr):
        counts = (stream.bytes_total, stream.lines_total, stream.bytes_omitted)
        if not all(0 <= count <= COUNTED_MAX for count in (*counts, stream.lines_omitted)):
            raise OutcomeError("its output is counted wrongly")
        shown += len(stream_bytes(stream.head)) + len(stream_bytes(stream.tail))
    # A byte that is not text takes three in its place.
    if shown > 3 * output_bytes_max(limits):
        raise OutcomeError(f"its output shows {shown:,} bytes")


def stream_bytes(text: str) -> bytes:
    """Return what a stream's text stands for."""
    return text.encode("utf-8", "surrogateescape")


NAME_CHARACTERS_MAX = 60
"""Of what an artifact is called, behind its number: `safe_name` takes it as it is."""


def hand_over(completed: Completed, order: Order, worker: str, changes: Path, out: Path) -> None:
    """Write what came of an order into an empty folder; streams and artifacts are moved there.

    `worker` is the worker's name. `changes` is the folder of what its engine has kept: the run's
    change set is copied from there, and is the caller's to drop.

    Raises:
        OSError: there is no room, or something is gone.
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
    if order.profile.project is ProjectAccess.COMMIT:  # the front's commit tells them
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
    """Move a whole stream, or its first `room` bytes; how many."""
    try:
        spool.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        target.write_bytes(spool.read_bytes())
        spool.unlink(missing_ok=True)
    size = target.stat().st_size
    if size > room:  # what came until the program was ended
        os.truncate(target, max(0, room))
    return min(size, max(0, room))


def _move_artifacts(artifacts: Iterable[Artifact], folder: Path) -> tuple[Artifact, ...]:
    """The artifacts by their names in `folder`, where they have been moved."""
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
    """Find what the run changed, as the engine keeps it; None if that is nothing.

    Raises:
        OSError: it is gone.
    """
    if changes_id is None:
        return None
    try:
        return ChangeStore(changes).get(changes_id)
    except UnknownChangesError as error:
        raise OSError(errno.ENOENT, f"what the run changed is gone: {error}") from error


def _stands_in(change: Change) -> bool:
    """Whether it only stood in for what the view hides."""
    return any(name == STAND_IN_MARK for name, _ in change.xattrs)


def _tell(change: Change) -> Change:
    """A change without what only this machine has: attributes, and what was there before."""
    target = change.target if change.change != "deleted" else ""
    return replace(change, target=target, xattrs=(), before=None, before_sha256="")


def _too_much(result: Result, count: int) -> Result:
    """The result of a run whose changes no outcome can tell."""
    return replace(
        result,
        status=Status.SANDBOX_ERROR,
        exit_code=None,
        signal=None,
        message=f"nothing of what the run changed was committed: {count:,} entries are more than a "
        "worker tells of; have it write to a folder outside the project, or in several runs",
    )


def _copy_contents(contents: Path, changed: Iterable[Change], target: Path) -> None:
    """Write the contents of changed files one after the other.

    Raises:
        OSError: one is not what it was, or there is no room.
    """
    top = os.open(contents, FOLDER_FLAGS)
    try:
        with Tree(top) as tree, open(target, "xb") as out:
            for one in filter(has_content, changed):
                with open(tree.open(one.path), "rb") as content:
                    if os.fstat(content.fileno()).st_size != one.size:
                        raise OSError(errno.EIO, "it is not what was kept", one.path)
                    shutil.copyfileobj(content, out, MIB)
    finally:
        os.close(top)
