"""Fitting hits into a budget of bytes: whole chunks, and where one is too long its best lines."""

from __future__ import annotations

from collections.abc import Sequence

from kb.focus import count_matches, excerpt, split_lines
from kb.model import Hit

MIN_SNIPPET_BYTES = 120
"""Less than this of a chunk tells nothing: the hit is counted as omitted instead."""


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


def strong_first(hits: list[Hit], terms: Sequence[str], budget: int | None) -> list[Hit]:
    """The same of hits whose weak ones stand last: these get only what the others leave."""
    count = sum(not hit.weak for hit in hits)
    shown = within_budget(hits[:count], terms, budget)
    if len(shown) < count:
        return shown
    left = None if budget is None else budget - sum(len(hit.text.encode()) for hit in shown)
    return shown + within_budget(hits[count:], terms, left)


def snippet(hit: Hit, terms: Sequence[str], budget: int) -> Hit:
    """`hit` reduced to the run of whole lines around its best match that fits `budget` bytes; one
    line too long for it is cut within."""
    lines = split_lines(hit.text)
    best = max(range(len(lines)), key=lambda at: (count_matches(lines[at], terms), -at))
    first = last = best
    size = len(lines[best].encode())
    if size > budget:
        return excerpt(hit, lines, first, first + 1, _cut_line(lines[best], terms, budget))
    while True:
        grown = False
        for at in (last + 1, first - 1):
            if 0 <= at < len(lines) and size + len(lines[at].encode()) <= budget:
                size += len(lines[at].encode())
                first, last, grown = min(first, at), max(last, at), True
        if not grown:
            return excerpt(hit, lines, first, last + 1)


def _cut_line(line: str, terms: Sequence[str], budget: int) -> tuple[int, int]:
    """Where a piece of `budget` bytes around the line's first match begins and ends."""
    lowered = line.lower()
    found = min((at for term in terms if (at := lowered.find(term.lower())) >= 0), default=0)
    start = max(0, found - budget // 8)
    piece = line[start:].encode()[:budget].decode("utf-8", "ignore")
    return start, start + len(piece)
