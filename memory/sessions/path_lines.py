"""Compact lists of paths: a shared folder is named once, `src/app/: a.py* views/b.py`.

Appending a name to the folder gives the path; `*` marks edited files. A path with a space, or one
that could be misread, is a separate line in JSON quotes. Folders are chosen to take the fewest
bytes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate, chain

from memory.texts import size_bytes

FOLDER_BYTES_MIN = 4
"""Length from which a folder is named; shorter ones, such as the root, never are."""

_GROUPED_BYTES_MAX = 400
_PARTS = re.compile(r"[^/]*/|[^/]+\Z")
_PARTS_WEIGHED = 40


def write_paths(paths: Sequence[str], edited: Collection[str]) -> list[str]:
    """Write the paths as lines. Lines, and paths within a line, keep the order of their first."""
    folders = _find_folders([path for path in dict.fromkeys(paths) if _is_grouped(path)])
    lines: dict[tuple[str, str], list[str]] = {}
    for path in dict.fromkeys(paths):
        folder = folders.get(path, "")
        rest = path[len(folder) :] if folder else _quote(path)
        line = lines.setdefault((folder, "" if folder else path), [])
        line.append(rest + "*" if path in edited else rest)
    return [
        f"{folder}: {' '.join(rest)}" if folder else rest[0] for (folder, _), rest in lines.items()
    ]


def weigh_paths(paths: Collection[str]) -> dict[str, float]:
    """Return the bytes of each path; paths in one folder share its bytes."""
    parts = {path: _PARTS.findall(path[:_GROUPED_BYTES_MAX])[:_PARTS_WEIGHED] for path in paths}
    folders = {path: list(accumulate(found[:-1])) for path, found in parts.items()}
    below = Counter(chain.from_iterable(folders.values()))
    return {
        path: size_bytes(path.rpartition("/")[2])
        + sum(len(part) / below[of] for part, of in zip(parts[path], folders[path], strict=False))
        for path in paths
    }


def _is_plain(path: str) -> bool:
    """Return whether no part of a path can be taken for a mark of the form."""
    is_marked = path.startswith('"') or path.endswith(("*", ":")) or " " in path
    return bool(path) and path.isprintable() and not is_marked


def _is_grouped(path: str) -> bool:
    is_odd = '"' in path or "*" in path or "//" in path or path.endswith("/")
    return _is_plain(path) and not is_odd and size_bytes(path) <= _GROUPED_BYTES_MAX


def _quote(path: str) -> str:
    return path if _is_plain(path) else json.dumps(path, ensure_ascii=not path.isprintable())


def _find_folders(paths: Sequence[str]) -> dict[str, str]:
    """Find the folder under which each path is written, taking the fewest bytes; it may be none."""
    if not paths:
        return {}
    parts = sorted(_PARTS.findall(path) for path in paths)
    sizes = [[0, *accumulate(map(size_bytes, one))] for one in parts]
    known: dict[tuple[int, int, int], tuple[int, tuple[int, ...]]] = {}

    def plan(begin: int, end: int, above: int) -> tuple[int, tuple[int, ...]]:
        """Plan a run of sorted paths whose folder of `above` parts is named; return the bytes, and
        for each path the parts of its folder."""
        if end - begin == 1:
            return 1 + sizes[begin][-1] - sizes[begin][above], (above,)
        if (found := known.get((begin, end, above))) is not None:
            return found
        depth = _count_shared(parts[begin], parts[end - 1])
        runs = list(_split(parts, begin, end, depth))
        best = _join(plan(*run, above) for run in runs)
        size = sizes[begin][depth]
        if depth > above and size >= FOLDER_BYTES_MIN:
            total, depths = _join(plan(*run, depth) for run in runs)
            best = min(best, (total + size + 2, depths))
        known[begin, end, above] = best
        return best

    depths = plan(0, len(parts), 0)[1]
    return {"".join(one): "".join(one[:depth]) for one, depth in zip(parts, depths, strict=True)}


def _split(
    parts: Sequence[Sequence[str]], begin: int, end: int, depth: int
) -> Iterator[tuple[int, int]]:
    """Yield the runs of paths in one folder of this depth."""
    first = begin
    for at in range(begin + 1, end + 1):
        if at == end or parts[at][depth] != parts[first][depth]:
            yield first, at
            first = at


def _join(plans: Iterator[tuple[int, tuple[int, ...]]]) -> tuple[int, tuple[int, ...]]:
    listed = list(plans)
    return sum(bytes_ for bytes_, _ in listed), tuple(n for _, one in listed for n in one)


def _count_shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the leading parts that two paths share, without their names."""
    most = min(len(one), len(other)) - 1
    return next((n for n in range(most) if one[n] != other[n]), most)
