"""The paths of a map, indexed by folder and by name."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Collection
from functools import cached_property

Read = Callable[[str], bytes | None]


class Tree:
    """The paths, and the bytes of those few that say how others are found."""

    def __init__(self, paths: Collection[str], read: Read) -> None:
        """Take the paths, relative and with slashes."""
        self.paths = frozenset(paths)
        self.read = read

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        """The paths by their last part."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            found[path.rpartition("/")[2]].append(path)
        return dict(found)

    @cached_property
    def by_folder(self) -> dict[str, list[str]]:
        """The paths by their folder, which is empty at the top."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            found[path.rpartition("/")[0]].append(path)
        return dict(found)

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every folder that something lies in or below."""
        found = set()
        for folder in self.by_folder:
            above = folder
            while above and above not in found:
                found.add(above)
                above = above.rpartition("/")[0]
        return frozenset(found)

    def only(self, suffix: str) -> tuple[str, ...]:
        """Return the one path that ends in these whole parts; nothing where several do."""
        fits = [
            path
            for path in self.by_name.get(suffix.rpartition("/")[2], ())
            if path == suffix or path.endswith(f"/{suffix}")
        ]
        return tuple(fits) if len(fits) == 1 else ()


def join(folder: str, relative: str) -> str | None:
    """Return a path from a folder; None where it leads out of the tree."""
    path = posixpath.normpath(posixpath.join(folder, relative))
    return None if path == ".." or path.startswith(("../", "/")) else path


def folder_of(path: str) -> str:
    """Return the folder of a path, empty at the top."""
    return path.rpartition("/")[0]
