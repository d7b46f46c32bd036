"""Contents of changed files as they come one after the other, each written under its own path."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import BinaryIO

from executor.project.view.tree import Tree, split
from fleet.changed import Changed
from fleet.errors import OutcomeError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class ContentFiles:
    """Cuts what comes into the files that were told of, and holds each against its digest."""

    def __init__(self, top: int, changed: Iterable[Changed]) -> None:
        """Write below `top`, a descriptor of an empty folder that the caller closes afterwards."""
        self._tree = Tree(top)
        self._made = {""}
        self._ahead = iter([one for one in changed if one.has_content])
        self._now: Changed | None = None
        self._file: BinaryIO | None = None
        self._left = 0
        self._seen = hashlib.sha256()

    def begin(self) -> None:
        """Make the first file, and those before it that are empty.

        Raises:
            OutcomeError: an empty file has another's digest.
            OSError: one can't be written.
        """
        self._go_on()

    def write(self, data: bytes) -> None:
        """Take the next bytes of all contents.

        Raises:
            OutcomeError: they are not what was told, or too many.
            OSError: they can't be written.
        """
        rest = memoryview(data)
        while rest:
            if self._file is None:
                raise OutcomeError("the changed files have more content than was told")
            part = rest[: self._left]
            self._file.write(part)
            self._seen.update(part)
            self._left -= len(part)
            rest = rest[len(part) :]
            if not self._left:
                self._finish()
                self._go_on()

    def close(self) -> None:
        """Close what is open."""
        if self._file is not None:
            self._file.close()
        self._tree.forget()

    def _go_on(self) -> None:
        """Open the next file that has any content."""
        for one in self._ahead:
            folder, name = split(one.path)
            self._make(folder)
            self._file = os.fdopen(
                os.open(name, _NEW, 0o600, dir_fd=self._tree.folder(folder)), "wb"
            )
            self._now, self._left, self._seen = one, one.size, hashlib.sha256()
            if self._left:
                return
            self._finish()

    def _finish(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None
        if self._now is None or self._seen.hexdigest() != self._now.sha256:
            raise OutcomeError("a changed file has another content than was told")

    def _make(self, folder: str) -> None:
        missing = []
        while folder not in self._made:
            missing.append(folder)
            folder, _ = split(folder)
        for path in reversed(missing):
            above, name = split(path)
            os.mkdir(name, 0o700, dir_fd=self._tree.folder(above))
            self._made.add(path)
