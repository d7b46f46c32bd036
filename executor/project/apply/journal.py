"""Commits under way, written down so that a later start completes or takes back each."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from executor.project.apply.operations import Operation, unpack

PREPARING, READY = "preparing", "ready"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A journal as it was found: its steps, but for those that are left out."""

    operations: tuple[Operation, ...]
    left_out: frozenset[int]
    is_ready: bool


class Journal:
    """One commit's steps. While it is not ready they are taken back, afterwards completed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def folder(self) -> Path:
        """Where repositories lie that it takes."""
        return self.path.with_suffix("")

    def is_on(self, device: int) -> bool:
        """Whether it lies on the file system of this number."""
        try:
            return os.stat(self.path).st_dev == device
        except OSError:
            return False

    def begin(self, operations: Iterable[Operation]) -> None:
        """Write the steps down before anything is prepared.

        Raises:
            OSError: the store can't be written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(self.path, "x", encoding="ascii") as file:
            file.writelines(f"{json.dumps(each.pack())}\n" for each in operations)
            _sync(file.fileno())
        _sync_folder(self.path.parent)

    def ready(self, left_out: Iterable[int] = ()) -> None:
        """Say that all is prepared; steps of these numbers are taken back all the same.

        Raises:
            OSError: the store can't be written.
        """
        with open(self.path, "a", encoding="ascii") as file:
            file.write(f"{json.dumps({READY: sorted(left_out)})}\n")
            file.flush()
            _sync(file.fileno())

    def end(self) -> None:
        """Forget a commit that is done, or taken back."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self) -> JournalEntry:
        """What was written before the writer died; a last half line is no line.

        Raises:
            OSError: it can't be read.
        """
        operations: list[Operation] = []
        for line in self._lines():
            if isinstance(line, dict):
                return JournalEntry(tuple(operations), frozenset(line[READY]), True)
            operations.append(unpack(line))
        return JournalEntry(tuple(operations), frozenset(), False)

    def _lines(self) -> Iterator[list[Any] | dict[str, list[int]]]:
        with open(self.path, encoding="ascii") as file:
            for line in file:
                if not line.endswith("\n"):
                    return
                yield json.loads(line)


def _sync(descriptor: int) -> None:
    os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
