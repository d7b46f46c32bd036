"""The paths of a map, indexed by folder, by name and by ending."""

from __future__ import annotations

import json
import posixpath
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any, TypeVar

Read = Callable[[str], bytes | None]
_Key = TypeVar("_Key", bound=Hashable)
_Found = TypeVar("_Found")

MODULE_CHARS = 1000
"""Limit of length: no longer name of a module refers to a file."""

QUOTES = "\"'`<>"
"""Marks around a module in programs."""

CONFIG_BYTES_MAX = 32 << 20
"""Limit for all configuration files together; later ones count as missing."""

CANDIDATES = 64
"""Limit of paths with the same ending that are compared for the nearest."""

LEVELS_MAX = 40
"""Limit of parent folders that are searched, before the top."""


class Tree:
    """The paths, and the bytes of the few files that configure imports."""

    def __init__(self, paths: Collection[str], read: Read) -> None:
        """Index the paths, relative and with slashes."""
        self.paths = frozenset(paths)
        self._read = read
        self._bytes_left = CONFIG_BYTES_MAX
        self._known: dict[tuple[object, Hashable], object] = {}

    def read(self, path: str) -> bytes:
        """Return a configuration file; empty if it is not in the map, or cannot be read."""
        if path not in self.paths or self._bytes_left <= 0:
            return b""
        data = self._read(path) or b""
        self._bytes_left -= len(data)
        return data

    def once(self, find: Callable[[Tree, _Key], _Found], key: _Key) -> _Found:
        """Return what a function finds for a key, calling it once per tree."""
        place = (find, key)
        if place not in self._known:
            self._known[place] = find(self, key)
        found: _Found = self._known[place]  # type: ignore[assignment]  # of this very function
        return found

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        """Return the paths by their last part."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            found[path.rpartition("/")[2]].append(path)
        return dict(found)

    @cached_property
    def by_folder(self) -> dict[str, list[str]]:
        """Return the paths by their folder, which is empty at the top."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            found[path.rpartition("/")[0]].append(path)
        return dict(found)

    def list_folder(self, folder: str, endings: tuple[str, ...]) -> tuple[str, ...]:
        """Return the files directly in a folder with this ending."""
        return tuple(path for path in self.by_folder.get(folder, ()) if path.endswith(endings))

    def find_ending(self, suffix: str) -> tuple[str, ...]:
        """Return up to `CANDIDATES` paths that end in these whole parts."""
        return _find_ending(self._backward_paths, suffix)

    def find_folders_ending(self, suffix: str) -> tuple[str, ...]:
        """Return up to `CANDIDATES` folders of files that end in these whole parts."""
        return _find_ending(self._backward_folders, suffix)

    def only(self, suffix: str) -> tuple[str, ...]:
        """Return the only path that ends in these whole parts; empty if there are several."""
        fits = self.find_ending(suffix)
        return fits if len(fits) == 1 else ()

    @cached_property
    def _backward_paths(self) -> list[str]:
        return sorted(map(_reverse, self.paths))

    @cached_property
    def _backward_folders(self) -> list[str]:
        return sorted(_reverse(folder) for folder in self.by_folder if folder)


def _reverse(path: str) -> str:
    """Return a path with its parts reversed, so that equal endings are neighbours."""
    return "/".join(reversed(path.split("/"))) + "/"


def _find_ending(backward: Sequence[str], suffix: str) -> tuple[str, ...]:
    if not suffix:
        return ()
    begin = _reverse(suffix)
    at = bisect_left(backward, begin)
    fits = takewhile(lambda one: one.startswith(begin), backward[at : at + CANDIDATES])
    return tuple(sorted("/".join(reversed(one[:-1].split("/"))) for one in fits))


def find_nearest(path: str, candidates: Sequence[str]) -> tuple[str, ...]:
    """Return the candidate that shares most folders with a path; empty if several do."""
    if len(candidates) <= 1:
        return tuple(candidates)
    parts = path.split("/")

    def count_shared(one: str) -> int:
        pairs = zip(parts, one.split("/"), strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    ranked = sorted((-count_shared(one), one) for one in candidates)
    return (ranked[0][1],) if ranked[0][0] < ranked[1][0] else ()


def join(folder: str, relative: str) -> str | None:
    """Return a path from a folder, empty for the top; None if it is outside the tree."""
    path = posixpath.normpath(posixpath.join(folder, relative))
    if path == ".":
        return ""
    return None if path == ".." or path.startswith(("../", "/")) else path


def place(folder: str, name: str) -> str:
    """Return the path of a name in a folder; either may be empty."""
    return f"{folder}/{name}" if folder and name else folder or name


def folder_of(path: str) -> str:
    """Return the folder of a path, empty at the top."""
    return path.rpartition("/")[0]


def list_above(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, the nearest first, and the top, which is empty."""
    for _ in range(LEVELS_MAX):
        if not folder:
            break
        yield folder
        folder = folder_of(folder)
    yield ""


_TOKEN = re.compile(r'["/,}\]]')
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def read_json_object(tree: Tree, path: str) -> dict[str, Any]:
    """Return the object in a file of the tree; empty if it has none."""
    try:
        found = json.loads(strip_comments(tree.read(path).decode("utf-8-sig")))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def strip_comments(text: str) -> str:
    """Return JSON without comments, and without commas before a closing bracket, in one pass."""
    kept: list[str] = []
    comma = -1  # place in `kept` of a comma that only blanks follow
    at = 0
    while (found := _TOKEN.search(text, at)) is not None:
        begin = found.start()
        kept.append(text[at:begin])
        if kept[-1].strip():
            comma = -1
        end = _skip_comment(text, begin) if found[0] == "/" else begin
        if end > begin:
            kept.append(" ")
            at = end
            continue
        if found[0] == '"':
            string = _STRING.match(text, begin)
            at = len(text) if string is None else string.end()
        else:
            at = begin + 1
        if comma >= 0 and found[0] in "}]":
            kept[comma] = ""
        comma = len(kept) if found[0] == "," else -1
        kept.append(text[begin:at])
    kept.append(text[at:])
    return "".join(kept)


def _skip_comment(text: str, begin: int) -> int:
    """Return the end of a comment, or its possible start without one."""
    if text.startswith("//", begin):
        end = text.find("\n", begin)
        return len(text) if end < 0 else end
    if text.startswith("/*", begin):
        end = text.find("*/", begin + 2)
        return len(text) if end < 0 else end + 2
    return begin
