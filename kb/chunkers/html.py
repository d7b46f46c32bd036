"""HTML by headings, over its exact source; scripts, styles and comments hold none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from kb.chunks import Mark

_TAG = re.compile(
    rb"<!--.*?(?:-->|\Z)|<(script|style|svg|template)\b.*?(?:</\1\s*>|\Z)"
    rb"|<h([1-6])\b[^<>]{0,1000}>(.{0,600}?)</h\2\s*>"
    rb"|<(?P<block>pre|table|article|section|p|li|tr|dt)\b",
    re.DOTALL | re.IGNORECASE,
)
_MARKUP = re.compile(r"<[^<>]*>")


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """A mark a heading; blocks are marked too, so that cuts fall between rather than in them."""
    path: list[tuple[int, str]] = []
    for found in _TAG.finditer(data):
        if found.group(2):
            level = int(found.group(2))
            while path and path[-1][0] >= level:
                path.pop()
            text = unescape(_MARKUP.sub("", found.group(3).decode("utf-8", "replace")))
            path.append((level, " ".join(text.split()).rstrip("¶# ")))
            yield Mark(found.start(), tuple(name for _, name in path))
        elif block := found.group("block"):
            whole = block.lower() in (b"pre", b"table")
            yield Mark(found.start(), tuple(name for _, name in path), whole=whole)
