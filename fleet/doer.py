"""What an engine's side at a worker asks of the worker: to do one sealed order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Protocol

from fleet.blob_cache import BlobCache
from fleet.tree import Digest

ORDER_FILE: Final = "order"
"""The sealed order, in the root of an action's input; beside it the project."""
PROJECT_FOLDER: Final = "project"

OUTCOME_FILE: Final = "outcome.json"
STREAM_FILES: Final = ("stdout", "stderr")
CHANGED_FILE: Final = "changed"
ARTIFACTS_FOLDER: Final = "artifacts"
OUTPUTS: Final = (OUTCOME_FILE, *STREAM_FILES, CHANGED_FILE, ARTIFACTS_FOLDER)
"""What a worker hands back, where the run gave it: `changed` has the contents of changed files one
after the other, in the outcome's order."""

Fetch = Callable[[frozenset[Digest], BlobCache], Awaitable[None]]
"""Brings blobs of a project into a worker's cache. It raises `BlobError` where one is absent, and
`UnreachableError`."""


class Doer(Protocol):
    """A worker, of whatever engine."""

    async def do(self, sealed: bytes, fetch: Fetch, out: Path) -> None:
        """Do an order, and write what is handed back into the empty folder `out`.

        Raises:
            SealError: nobody whom this worker serves has sealed it so; nothing was run.
            BlobError, UnreachableError: the project can't be had.
            OSError: there is no room.
        """
