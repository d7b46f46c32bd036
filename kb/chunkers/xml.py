"""XML by element path: `project > dependencies > dependency`, with an identifying attribute."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from kb.chunkers import outline
from kb.chunks import Mark

_TAG = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    rb"|<(?P<close>/)?(?P<name>[A-Za-z_][\w:.-]{0,100})"
    rb"(?P<rest>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+'){0,200})>",
    re.DOTALL,
)
_IDENTITY = re.compile(rb"\b(?:name|id|title|key|label|path|ref)\s*=\s*[\"']([^\"']{1,100})[\"']")


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """A mark for each element that outgrew its parent's chunk."""
    parts = sorted(_elements(data), key=lambda part: (part.start, -part.end))
    return outline.marks(parts)


def _elements(data: bytes) -> Iterator[outline.OutlinePart]:
    """Every element, when it ends; those never closed last until what encloses them ends."""
    open_elements: list[tuple[int, bytes, str]] = []
    for tag in islice(_TAG.finditer(data), outline.PARTS_MAX):
        name = tag["name"]
        if name is None:
            continue
        if not tag["close"]:
            title = _title(name, tag["rest"])
            if tag["rest"].endswith(b"/"):
                yield outline.OutlinePart(tag.start(), tag.end(), title)
            else:
                open_elements.append((tag.start(), name, title))
            continue
        depth = _depth_of(open_elements, name)
        while depth is not None and len(open_elements) > depth:
            start, _, title = open_elements.pop()
            yield outline.OutlinePart(start, tag.end(), title)
    for start, _, title in open_elements:
        yield outline.OutlinePart(start, len(data), title)


def _depth_of(open_elements: list[tuple[int, bytes, str]], name: bytes) -> int | None:
    """The nearest open element that a closing tag may mean; a stray one means none."""
    for depth in range(len(open_elements) - 1, max(-1, len(open_elements) - 9), -1):
        if open_elements[depth][1] == name:
            return depth
    return None


def _title(name: bytes, attributes: bytes) -> str:
    identity = _IDENTITY.search(attributes)
    words = [name, identity.group(1)] if identity else [name]
    return b" ".join(words).decode("utf-8", "replace")
