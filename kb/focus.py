"""Excerpts of a hit whose text is not all relevant: whole lines, exactly as they are.

A program's imports are left out if the query matches none of them. Of records, such as a log's,
those that match are shown, with two around them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise

from kb.model import Hit

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def split_lines(text: str) -> list[str]:
    """Return the lines of `text` with their ends."""
    return _LINE.findall(text)


def excerpt(
    hit: Hit, lines: Sequence[str], first: int, end: int, cut: tuple[int, int | None] = (0, None)
) -> Hit:
    """Cut `hit` to the lines [`first`, `end`) of its text; `cut` takes characters of them."""
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


RECORD_KINDS = frozenset({"log", "trace"})
"""Kinds of text in which one event is written again and again, with another time or number."""

REPEATED_KINDS = RECORD_KINDS | {"stacks", "tests", "compiler"}
"""Kinds in which the same failure may occur more than once."""

_CHANGING = re.compile(r"0[xX][0-9a-fA-F]+|\d+")
_LETTERS_MIN = 0.5


def find_shape(hit: Hit, terms: Sequence[str]) -> str:
    """Return what equal hits have in common: a record without its numbers, any other text as it is.
    Numbers in the query, and tables of numbers, count in full."""
    if hit.kind not in REPEATED_KINDS:
        return hit.text
    letters = sum(map(str.isalpha, hit.text))
    if letters < _LETTERS_MIN * len("".join(hit.text.split())):
        return hit.text
    asked = [term for term in terms if any(map(str.isdigit, term))]
    if any(term in hit.text for term in asked):
        return hit.text
    return " ".join(_CHANGING.sub("0", hit.text).split())


AROUND = 2
"""Records shown before and after those that match."""

_IMPORT = re.compile(
    r"\s*(?:import|from|package|use|using|require|include|extern crate|#\s*include|@import)\b"
    r"|\s*(?:const|let|var)\s[^=]{1,200}=\s*require\s*\("
    r"|\s*['\"]use strict['\"]"
)
_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--|;;)")

_ENDING = re.compile(r"(?<=\w{4})(?:ing|ed|es|s|e)$")
_STEMS_REMEMBERED = 1024


def focus(hit: Hit, terms: Sequence[str]) -> Hit:
    """Return the hit with its relevant lines; all lines if none stands out."""
    if hit.kind == "code":
        return _skip_imports(hit, terms)
    return _show_records(hit, terms) if hit.kind in RECORD_KINDS else hit


def count_matches(line: str, terms: Sequence[str]) -> int:
    """Count the terms that are in a line, in any form."""
    lowered = line.lower()
    return sum(_stem(term) in lowered for term in terms)


@lru_cache(_STEMS_REMEMBERED)
def _stem(term: str) -> str:
    return _ENDING.sub("", term.lower())


def _skip_imports(hit: Hit, terms: Sequence[str]) -> Hit:
    lines = split_lines(hit.text)
    first = _find_end_of_imports(lines, terms)
    return excerpt(hit, lines, first, len(lines)) if 0 < first < len(lines) else hit


def _find_end_of_imports(lines: Sequence[str], terms: Sequence[str]) -> int:
    """Find the first line after the imports, with comments and blanks between them, that match no
    term; a comment directly above that line counts as after them."""
    end = 0
    opened = 0
    for at, line in enumerate(lines):
        is_import = opened > 0 or _IMPORT.match(line) is not None
        if not (is_import or not line.strip() or _COMMENT.match(line)) or count_matches(
            line, terms
        ):
            break
        if is_import:
            end = at + 1
            opened += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
    while 0 < end < len(lines) and not lines[end].strip():
        end += 1
    return end


def _show_records(hit: Hit, terms: Sequence[str]) -> Hit:
    """Return the records of the densest group of those that match best."""
    lines = split_lines(hit.text)
    starts = [at for at, line in enumerate(lines) if at == 0 or not line[:1].isspace()]
    ends = [*starts[1:], len(lines)]
    counts = [count_matches("".join(lines[a:b]), terms) for a, b in zip(starts, ends, strict=True)]
    best = max(counts, default=0)
    matching = [at for at, count in enumerate(counts) if count and count == best]
    if not matching:
        return hit
    first, last = _find_densest(matching)
    begin = starts[max(0, first - AROUND)]
    end = ends[min(len(ends) - 1, last + AROUND)]
    return hit if end - begin == len(lines) else excerpt(hit, lines, begin, end)


def _find_densest(matching: list[int]) -> tuple[int, int]:
    """Find the first and last of the longest run of records whose surroundings touch."""
    gaps = (b - a > 2 * AROUND + 1 for a, b in pairwise(matching))
    groups = list(accumulate(gaps, initial=0))
    longest = max(groups, key=lambda group: (groups.count(group), -group))
    run = [at for at, group in zip(matching, groups, strict=True) if group == longest]
    return run[0], run[-1]


MIN_SNIPPET_BYTES = 120
"""Less of a chunk is useless: the hit is counted as omitted instead."""


def within_budget(hits: list[Hit], terms: Sequence[str], budget: int | None) -> list[Hit]:
    """Return the hits whose texts together take at most `budget` bytes, in order.

    All are whole if that fits. Otherwise each gets a share of the rest that falls with its rank. So
    the best are whole or nearly so, and later ones still show their best lines.
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
    """Return the same for hits whose weak ones come last: these get only what the others leave."""
    count = sum(not hit.weak for hit in hits)
    shown = within_budget(hits[:count], terms, budget)
    if len(shown) < count:
        return shown
    left = None if budget is None else budget - sum(len(hit.text.encode()) for hit in shown)
    return shown + within_budget(hits[count:], terms, left)


def snippet(hit: Hit, terms: Sequence[str], budget: int) -> Hit:
    """Reduce `hit` to the whole lines around its best match that fit `budget` bytes; a longer line
    is cut."""
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
    """Find a piece of `budget` bytes around the line's first match: its start and end."""
    lowered = line.lower()
    found = min((at for term in terms if (at := lowered.find(term.lower())) >= 0), default=0)
    start = max(0, found - budget // 8)
    piece = line[start:].encode()[:budget].decode("utf-8", "ignore")
    return start, start + len(piece)
