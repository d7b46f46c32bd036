"""Fitting hits into a budget of bytes: whole chunks, and where one is too long its best lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kb.model import Hit

MIN_SNIPPET_BYTES = 120
"""Less than this of a chunk tells nothing: the hit is counted as omitted instead."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def within_budget(hits: list[Hit], terms: Sequence[str], budget: int | None) -> list[Hit]:
    """The hits whose texts together take at most `budget` bytes, in order.

    All of them whole where that fits. Else each gets a share of what is left that falls with its
    rank. So the best come whole or nearly, and those behind still show their best lines.
    """
    if budget is None or sum(len(hit.text.encode()) for hit in hits) <= budget:
        return hits
    shown: list[Hit] = []
    for at, hit in enumerate(hits):
        share = 2 * budget // (len(hits) - at + 1)
        size = len(hit.text.encode())
        if size > share:
            if share < MIN_SNIPPET_BYTES:
                break
            hit = snippet(hit, terms, share)  # noqa: PLW2901
            size = len(hit.text.encode())
        shown.append(hit)
        budget -= size
    return shown


def snippet(hit: Hit, terms: Sequence[str], budget: int) -> Hit:
    """`hit` reduced to the run of whole lines around its best match that fits `budget` bytes; one
    line too long for it is cut within."""
    lines = _LINE.findall(hit.text)
    wanted = [term.lower() for term in terms]
    best = max(range(len(lines)), key=lambda at: (_matches(lines[at], wanted), -at))
    first = last = best
    size = len(lines[best].encode())
    if size > budget:
        return _excerpt(hit, lines, first, _cut_line(lines[best], wanted, budget))
    while True:
        grown = False
        for at in (last + 1, first - 1):
            if 0 <= at < len(lines) and size + len(lines[at].encode()) <= budget:
                size += len(lines[at].encode())
                first, last, grown = min(first, at), max(last, at), True
        if not grown:
            return _excerpt(hit, lines, first, (0, "".join(lines[first : last + 1])))


def _matches(line: str, terms: list[str]) -> int:
    lowered = line.lower()
    return sum(term in lowered for term in terms)


def _cut_line(line: str, terms: list[str], budget: int) -> tuple[int, str]:
    """Where in the line a piece of `budget` bytes around its first match starts, and the piece."""
    lowered = line.lower()
    found = min((at for term in terms if (at := lowered.find(term)) >= 0), default=0)
    start = max(0, found - budget // 8)
    return start, line[start:].encode()[:budget].decode("utf-8", "ignore")


def _excerpt(hit: Hit, lines: list[str], first: int, piece: tuple[int, str]) -> Hit:
    offset, text = piece
    before = "".join(lines[:first]) + lines[first][:offset]
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
