"""The names of git's objects that runs brought in, so that they vouch for nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class BroughtObjects:
    """Names in one file, a line each, for all projects of a user.

    A project may lie in another, get another name, or share a repository with it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: set[str] | None = None

    def __contains__(self, name: str) -> bool:
        if self._names is None:
            self._names = set()
            for path in self._path.parent.glob("*.names"):
                self._names.update(path.read_text("ascii").split())
        return name in self._names

    def add(self, names: Iterable[str]) -> None:
        """Remember more, before they are brought in.

        Raises:
            OSError: the file can't be written.
        """
        new = [name for name in names if name not in self]
        if not new or self._names is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(self._path, "a", encoding="ascii") as file:
            # A blank line first: the last name may be half a one, where a writer died.
            file.write("".join(f"\n{name}" for name in new) + "\n")
        self._names.update(new)
