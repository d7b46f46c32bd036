"""AsciiDoc by sections; a delimited block stays whole where it fits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.chunks import Mark

_HEADING = re.compile(rb"(={1,6}|#{1,6})[ \t]+(\S[^\n]*?)[ \t]*(?:\1)?\r?\n?$")
_DELIMITER = re.compile(
    rb"(?:(?:-{4,}|\.{4,}|/{4,}|\+{4,}|={4,}|\*{4,}|_{4,})|\|===|```\w*)\r?\n?$"
)
_SOURCE = re.compile(rb"\[source,[ \t]*(?:language=)?[\"']?([\w+#.-]+)")


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """A mark a heading and one for each delimited block, with the language of a listing."""
    path: list[tuple[int, str]] = []
    position, tag = 0, None
    while position < len(data):
        start = position
        position = data.find(b"\n", start) + 1 or len(data)
        line = data[start:position]
        title = tuple(name for _, name in path)
        if heading := _HEADING.match(line):
            level = len(heading.group(1))
            while path and path[-1][0] >= level:
                path.pop()
            path.append((level, heading.group(2).decode("utf-8", "replace")))
            yield Mark(start, tuple(name for _, name in path))
        elif _DELIMITER.match(line):
            position = _find_end(data, position, line.strip()[:200])
            yield Mark(start, title, whole=True, language=tag)
            yield Mark(position, title)
        source = _SOURCE.match(line)
        tag = source.group(1).decode().lower() if source else None


def _find_end(data: bytes, position: int, delimiter: bytes) -> int:
    """The end of the block that `delimiter` opened; where it never closes only the line."""
    bare = b"```" if delimiter.startswith(b"```") else delimiter
    closing = re.compile(rb"^" + re.escape(bare) + rb"[ \t]*\r?$", re.MULTILINE)
    found = closing.search(data, position, position + 65_536)
    if found is None:
        return position
    return min(found.end() + 1, len(data))
