"""Whole lines of a hit, and where they stand in its source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kb.model import Hit

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def split_lines(text: str) -> list[str]:
    """The lines of `text` with their ends."""
    return _LINE.findall(text)


def excerpt(
    hit: Hit, lines: Sequence[str], first: int, end: int, cut: tuple[int, int | None] = (0, None)
) -> Hit:
    """`hit` with the lines [`first`, `end`) of its text alone; `cut` takes characters of them."""
    shown = "".join(lines[first:end])
    text = shown[slice(*cut)]
    before = "".join(lines[:first]) + shown[: cut[0]]
    start_byte = hit.start_byte + len(before.encode())
    start_line = hit.start_line + before.count("\n")
    return replace(
        hit,
        text=text,
        start_byte=start_byte,
        end_byte=start_byte + len(text.encode()),
        start_line=start_line,
        end_line=start_line + text[:-1].count("\n"),
    )
