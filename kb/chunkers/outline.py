"""From a tree of nested parts to marks: what outgrows a chunk is spread, small neighbours share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kb.chunks import MERGE_BYTES, TARGET_BYTES, Mark

PARTS_MAX = 500_000
"""Of a source; what comes behind is cut by size. A part takes some 250 bytes of memory, and can be
made of two bytes of text."""

_NAMES_IN_TITLE = 12
_PATH_ENDS = 6


class OutlinePart(NamedTuple):
    """A named part of a source; parts come in order of `start`, an enclosing one first."""

    start: int
    end: int
    name: str


def marks(parts: Iterable[OutlinePart]) -> Iterator[Mark]:
    """A mark for each part whose parent outgrew a chunk, one for each run of small siblings."""
    enclosing: list[OutlinePart] = []
    group: list[OutlinePart] = []
    for part in parts:
        while enclosing and enclosing[-1].end <= part.start:
            yield from _mark_shared(enclosing, group)
            enclosing.pop()
        if enclosing and enclosing[-1].end - enclosing[-1].start <= TARGET_BYTES:
            continue
        if group and part.end <= group[-1].end:
            continue
        if part.end - part.start < MERGE_BYTES:
            if group and part.end - group[0].start > TARGET_BYTES:
                yield from _mark_shared(enclosing, group)
            group.append(part)
            continue
        yield from _mark_shared(enclosing, group)
        yield Mark(part.start, path(enclosing, part.name))
        enclosing.append(part)
    yield from _mark_shared(enclosing, group)


def _mark_shared(enclosing: list[OutlinePart], group: list[OutlinePart]) -> Iterator[Mark]:
    if group:
        yield Mark(group[0].start, path(enclosing, join_names([part.name for part in group])))
        group.clear()


def path(enclosing: list[OutlinePart], name: str) -> tuple[str, ...]:
    """The names that are not empty; of a deep path the outermost and innermost."""
    if len(enclosing) > 2 * _PATH_ENDS:
        ends = [part.name for part in (*enclosing[:_PATH_ENDS], *enclosing[-_PATH_ENDS:])]
    else:
        ends = [part.name for part in enclosing]
    return tuple(part for part in (*ends, name) if part)


def join_names(names: list[str]) -> str:
    """One title element for several names."""
    names = list(dict.fromkeys(name for name in names if name))
    if len(names) > _NAMES_IN_TITLE:
        return f"{names[0]} … {names[-1]}"
    return ", ".join(names)


def nest_parts(starts: Iterable[tuple[int, int, str]], end: int) -> list[OutlinePart]:
    """Parts from (start, depth, name) in order of start: each lasts until the next that is not
    deeper. Depths need not be consecutive."""
    parts: list[OutlinePart] = []
    open_parts: list[tuple[int, int]] = []
    for start, depth, name in starts:
        while open_parts and open_parts[-1][0] >= depth:
            index = open_parts.pop()[1]
            parts[index] = parts[index]._replace(end=start)
        open_parts.append((depth, len(parts)))
        parts.append(OutlinePart(start, end, name))
    return parts
