"""The headings of Markdown."""

from __future__ import annotations

import re

from repomap.model import LINE_CHARS, Symbol

_HEADING = re.compile(r"(#{1,3})[ \t]+(\S.*)")
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")


def find_headings(data: bytes) -> tuple[Symbol, ...]:
    """Return the headings of levels 1 to 3 outside of fenced code, each up to the next."""
    lines = data.decode("utf-8", "replace").split("\n")
    found: list[tuple[int, str]] = []
    fence = ""
    for number, line in enumerate(lines, 1):
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (heading := _HEADING.match(line)):
            name = " ".join(heading[2].strip("# \r").split())
            found.append((number, name[:LINE_CHARS]))
    ends = [start - 1 for start, _ in found[1:]] + [len(lines)] * bool(found)
    return tuple(
        Symbol(name, "heading", "", start, max(start, end), name)
        for (start, name), end in zip(found, ends, strict=True)
        if name
    )
