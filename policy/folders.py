"""What lies in folders on the disk, within bounds of entries and of time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator

ENTRIES_MAX = 2_000  # of one folder and those below it
SECONDS_MAX = 0.04  # of processor time, over all that is asked
_PASSED_OVER = frozenset((".git", "node_modules", ".venv"))


class Folders:
    """The folders of one evaluation; each is read once, and links are not followed. What lies
    beyond the bounds counts as not there."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, ...]] = {}
        self._fitting: dict[tuple[str, str, str | None], tuple[str, ...]] = {}
        self._seconds = 0.0

    def files_below(self, folder: str) -> tuple[str, ...]:
        """The files in a folder and in those below it, the nearest first."""
        if folder not in self._seen:
            self._seen[folder] = tuple(self._in_time(_files_below(folder)))
        return self._seen[folder]

    def matching(
        self, folder: str, key: tuple[str, str | None], fits: Callable[[str], bool]
    ) -> tuple[str, ...]:
        """Those files below a folder that fit; `key` stands for what fits, which is asked once."""
        if (folder, *key) not in self._fitting:
            files = self._in_time(self.files_below(folder))
            self._fitting[folder, *key] = tuple(filter(fits, files))
        return self._fitting[folder, *key]

    def _in_time(self, items: Iterable[str]) -> Iterator[str]:
        """What is got as long as there is time; what is done with it counts, too."""
        start = time.thread_time()
        left = SECONDS_MAX - self._seconds
        for item in items:
            if time.thread_time() - start > left:
                break
            yield item
        self._seconds += time.thread_time() - start


def _files_below(folder: str) -> Iterator[str]:
    waiting, count = [folder], 0
    for current in waiting:
        try:
            with os.scandir(current) as entries:
                for entry in entries:
                    count += 1
                    if count > ENTRIES_MAX:
                        return
                    if not entry.is_dir(follow_symlinks=False):
                        yield entry.path
                    elif entry.name not in _PASSED_OVER:
                        waiting.append(entry.path)
        except (OSError, ValueError):
            continue
