"""Commits under way, written down so that a later start completes or takes back each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from executor.project.apply.operations import Operation
from executor.project.store.manifest import decode, encode
from executor.project.view.tree import FOLDER_FLAGS

PREPARING, READY = ".preparing", ".ready"


class Journal:
    """One commit's steps. While it is not ready they are taken back, afterwards completed."""

    def __init__(self, path: Path) -> None:
        """Use files that are named as `path`, with an end that says how far it is."""
        self.path = path

    def begin(self, operations: Sequence[Operation]) -> None:
        """Write the steps down before anything is prepared, and keep the packs that they take.

        Raises:
            OSError: the store can't be written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._write(operations, PREPARING)
        for each in operations:
            if each.taking is not None:
                shutil.copyfile(each.taking.carried.pack, self._pack_of(each))

    def ready(self, operations: Sequence[Operation]) -> None:
        """Note that all of these steps are prepared, and no others.

        Raises:
            OSError: the store can't be written.
        """
        self._write(operations, READY)
        self.path.with_suffix(PREPARING).unlink()

    def end(self) -> None:
        """Forget a commit that is done, or taken back, and the packs last."""
        found = self.path.parent.glob(f"{self.path.name}.*")
        for path in sorted(found, key=lambda one: one.suffix not in (PREPARING, READY)):
            path.unlink()

    def read(self) -> tuple[Sequence[Operation], bool]:
        """Return the steps, and whether they are ready.

        Raises:
            OSError: it can't be read.
            ValueError: another version wrote it.
        """
        for end in (READY, PREPARING, ".jsonl"):  # which earlier versions wrote
            path = self.path.with_suffix(end)
            if path.exists():
                return decode(list[Operation], path.read_text("ascii")), end == READY
        return (), False

    def _write(self, operations: Sequence[Operation], end: str) -> None:
        """Write a file that is whole, or not there."""
        noted = [
            replace(each, taking=each.taking.with_pack(self._pack_of(each)))
            if each.taking
            else each
            for each in operations
        ]
        new = self.path.with_suffix(".new")
        with open(new, "w", encoding="ascii") as file:
            file.write(encode(noted))
            file.flush()
            os.fsync(file.fileno())
        new.rename(self.path.with_suffix(end))
        folder = os.open(self.path.parent, FOLDER_FLAGS)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _pack_of(self, operation: Operation) -> Path:
        return self.path.with_suffix(f".pack{operation.unit}")
