"""Which files of which sizes a worker may hand back for an order, before any is fetched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from executor.model import MIB, Limits
from executor.profile import ProjectAccess
from executor.project.view.limits import BYTES_MAX
from executor.run.artifacts import safe_name
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
