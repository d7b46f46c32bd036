"""Files that a worker may hand back for an order, and what they are held against."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from executor.model import MIB, Limits, Result, Stream
from executor.profile import ProjectAccess
from executor.project.view.sampling import BYTES_MAX
from executor.run.artifacts import safe_name
from executor.spawner.artifacts import COUNT_MAX
from fleet.errors import OutcomeError
from fleet.forms import BYTES_MAX as FORM_BYTES_MAX
from fleet.model import Order, Outcome, has_content
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
