"""Programs by definitions: each with its comment, titled by the definitions that enclose it."""

from __future__ import annotations

from collections.abc import Iterator

from kb.chunks import Mark
from kb.definitions import find_definitions
from kb.parsing import is_parsed, parse

_DEPTH = 32


def marks(data: bytes, language: str | None) -> Iterator[Mark]:
    """A mark where a definition starts, and one where it ends and its surroundings go on."""
    if language is None or not is_parsed(data, language):
        return
    enclosing: list[tuple[int, tuple[str, ...]]] = []
    path: tuple[str, ...] = ()
    for start, end, name, _ in find_definitions(data, language, parse(data, language)):
        while enclosing and enclosing[-1][0] <= start:
            before, path = enclosing.pop()
            yield Mark(before, path)
        enclosing.append((end, path))
        if name:
            path = (*path[1 - _DEPTH :], name)
        yield Mark(start, path, identifiers=(name,))
    for end, outer in reversed(enclosing):
        yield Mark(end, outer)
