"""What lies in folders on the disk, within bounds of entries and of time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

ENTRIES_MAX = 2_000
SECONDS_MAX = 0.02
_PASSED_OVER = frozenset((".git", "node_modules", ".venv"))


class Folders:
    """The folders of one evaluation; each is read once, and links are not followed."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, ...]] = {}
        self._end: float | None = None

    def holds(self, path: str) -> bool:
        """Whether something lies at a path."""
        try:
            return os.path.lexists(path)
        except ValueError:
            return False

    def files_below(self, folder: str) -> tuple[str, ...]:
        """The files in a folder and in those below it, the nearest first, within the bounds."""
        if folder not in self._seen:
            if self._end is None:
                self._end = time.monotonic() + SECONDS_MAX
            self._seen[folder] = tuple(self._walk(folder, self._end))
        return self._seen[folder]

    def _walk(self, folder: str, end: float) -> Iterator[str]:
        waiting, count = [folder], 0
        for current in waiting:
            try:
                with os.scandir(current) as entries:
                    for entry in entries:
                        count += 1
                        if count > ENTRIES_MAX or time.monotonic() > end:
                            return
                        if not entry.is_dir(follow_symlinks=False):
                            yield entry.path
                        elif entry.name not in _PASSED_OVER:
                            waiting.append(entry.path)
            except (OSError, ValueError):
                continue
