"""Commits under way, written down so that a later start completes or takes back each."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from executor.project.apply.operations import Operation
from executor.project.store.manifest import decode, encode
from executor.project.view.walking import FOLDER_FLAGS

_READY = "ready "


class Journal:
    """One commit's steps. While it is not ready they are taken back, afterwards completed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def is_on(self, device: int) -> bool:
        """Return whether it lies on the file system of this number."""
        try:
            return os.stat(self.path).st_dev == device
        except OSError:
            return False

    def begin(self, operations: Iterable[Operation]) -> None:
        """Write the steps down before anything is prepared, and keep the packs that they take.

        Raises:
            OSError: the store can't be written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        packs = {}
        with open(self.path, "x", encoding="ascii") as file:
            for each in operations:
                noted = each
                if each.taking is not None:
                    own = self.path.with_suffix(f".{each.unit}.pack")
                    packs[own] = each.taking.carried.pack
                    noted = replace(each, taking=each.taking.with_pack(own))
                file.write(f"{encode(noted)}\n")
            file.flush()
            os.fsync(file.fileno())
        folder = os.open(self.path.parent, FOLDER_FLAGS)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        for own, pack in packs.items():
            shutil.copyfile(pack, own)

    def ready(self, left_out: Iterable[int] = ()) -> None:
        """Note that all is prepared; steps of these numbers are taken back all the same.

        Raises:
            OSError: the store can't be written.
        """
        with open(self.path, "a", encoding="ascii") as file:
            file.write(f"{_READY}{encode(sorted(left_out))}\n")
            file.flush()
            os.fsync(file.fileno())

    def end(self) -> None:
        """Forget a commit that is done, or taken back."""
        for pack in self.path.parent.glob(f"{self.path.stem}.*.pack"):
            pack.unlink()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def read(self) -> tuple[Sequence[Operation], frozenset[int] | None]:
        """Return the steps, and which of them are left out; None while it is not ready.

        The last line may be half a one, where the writer died.

        Raises:
            OSError: it can't be read.
            ValueError: another version wrote it.
        """
        operations: list[Operation] = []
        for line in self.path.read_text("ascii").splitlines(keepends=True):
            if not line.endswith("\n"):
                break
            if line.startswith(_READY):
                return operations, decode(frozenset[int], line.removeprefix(_READY))
            operations.append(decode(Operation, line))
        return operations, None
