"""reStructuredText by sections; a literal or code block stays whole where it fits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.chunks import Mark

_ADORNMENT = re.compile(rb"([!-/:-@\[-`{-~])\1{2,}[ \t]*\r?\n?$")
_CODE = re.compile(rb"([ \t]*)\.\. (?:code-block|code|sourcecode|highlight)::[ \t]*([\w+#.-]*)")
_ROLE = re.compile(r":[\w:.-]+:`([^`<]*)(?: <[^>]*>)?`|[`*]+")


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Levels are told by the order in which adornment styles first appear, as the format says."""
    styles: list[bytes] = []
    path: list[str] = []
    position, before, before_start = 0, b"", 0
    overline: tuple[int, bytes] | None = None
    while position < len(data):
        start = position
        position = data.find(b"\n", start) + 1 or len(data)
        line = data[start:position]
        if _ADORNMENT.match(line):
            if before.strip() and (overline or not before[:1].isspace()):
                style = line[:1] + (b"^" if overline else b"")
                at = overline[0] if overline else before_start
                yield _section(at, style, before, styles, path)
                overline, before = None, b""
                continue
            overline = (start, line[:1])
        elif code := _CODE.match(line):
            position = _block_end(data, position, len(code.group(1)))
            yield Mark(start, tuple(path), whole=True, language=code.group(2).decode() or None)
            yield Mark(position, tuple(path))
            line, overline = b"", None
        elif overline and not line.strip():
            overline = None
        before, before_start = line, start


def _section(at: int, style: bytes, title: bytes, styles: list[bytes], path: list[str]) -> Mark:
    if style not in styles:
        styles.append(style)
    del path[styles.index(style) :]
    text = title[:1000].decode("utf-8", "replace").strip()
    path.append(_ROLE.sub(lambda role: role.group(1) or "", text))
    return Mark(at, tuple(path))


def _block_end(data: bytes, position: int, indent: int) -> int:
    """The end of the lines from `position` that are blank or indented more than `indent`."""
    end = position
    while position < len(data):
        line_end = data.find(b"\n", position) + 1 or len(data)
        line = data[position : min(line_end, position + indent + 64)]
        if line.strip():
            if len(line) - len(line.lstrip(b" \t")) <= indent:
                break
            end = line_end
        position = line_end
    return end
