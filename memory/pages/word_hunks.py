"""Common words or lines of two texts, in order. The work per text is limited."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import Match
from typing import Literal

from memory.pages.model import Hunk

STEPS_MAX = 150_000
"""Limit of steps in the search for a page's shortest differences; the rest differs as a whole."""

WORDS_MAX = 40_000
"""Limit of words compared, of both sides of a page; later changed lines differ as a whole."""

_ROUNDS_MAX = 12
_EDITS_MAX = 200
_ANCHOR_CHARS = 20
"""Length of a line from which its single occurrence in each text is not chance."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"\s+|(?:[{_UNSPACED}]|[^\s{_UNSPACED}]+)\s*")
# A line or a sentence. Blank lines and the next line's indentation belong to it, like white space
# to a word.
_PIECE = re.compile(r"(?=[\s\S])[^\n.\u3002]*(?:\.(?!\s)[^\n.\u3002]*)*[\n.\u3002]?\s*")
_Mark = Literal["=", "-", "+"]


@dataclass(slots=True)
class Work:
    """The remaining steps and words of a page."""

    steps: int = STEPS_MAX
    words: int = WORDS_MAX


class _Hunks:
    """A growing list of hunks: neighbours with the same mark are joined."""

    def __init__(self) -> None:
        self._parts: list[tuple[_Mark, list[str]]] = []

    def add(self, mark: _Mark, text: str) -> None:
        if not text:
            return
        if self._parts and self._parts[-1][0] == mark:
            self._parts[-1][1].append(text)
        else:
            self._parts.append((mark, [text]))

    def close(self) -> tuple[Hunk, ...]:
        return tuple((mark, "".join(texts)) for mark, texts in self._parts)


def word_hunks(old: str, new: str, work: Work | None = None) -> tuple[Hunk, ...]:
    """Return the common parts of two texts, and the parts of one only, word by word. Common lines
    and sentences are found first, and words are compared only between them. White space belongs to
    the word before it and is not compared. The texts of `=` and `+` form the new text."""
    work, hunks = work or Work(), _Hunks()
    a, b = _PIECE.findall(old), _PIECE.findall(new)
    runs = match_items(_keys(a), _keys(b), Work(0), anchor_chars=_ANCHOR_CHARS)
    for gone, came, kept in _walk(runs, a, b):
        _compare_pieces(hunks, gone, came, work)
        hunks.add("=", "".join(kept))
    return hunks.close()


def _compare_pieces(hunks: _Hunks, old: Sequence[str], new: Sequence[str], work: Work) -> None:
    """Compare lines and sentences without an equal in the other text: in pairs, if each keeps most
    of its words at its ends."""
    pairs = [*map(_find_middles, old, new)] if len(old) == len(new) else []
    if not pairs or None in pairs:
        _compare_words(hunks, "".join(old), "".join(new), work)
        return
    for whole, pair in zip(new, pairs, strict=True):
        if pair is not None:
            start, gone, came = pair
            hunks.add("=", whole[:start])
            _compare_words(hunks, gone, came, work)
            hunks.add("=", whole[start + len(came) :])


def _find_middles(old: str, new: str) -> tuple[int, str, str] | None:
    """Return the differing parts of two lines, between common words at their ends, and its start in
    the new line; None if they share less than a half."""
    a, b = old.split(" "), new.split(" ")
    start, end = _shared_edges(a, b)
    if 2 * (start + end) <= max(len(a), len(b)):
        return None
    gone, came = a[start : len(a) - end], b[start : len(b) - end]
    # The space after a piece belongs to it, except after the last one.
    left, right = ((" ".join(it) + " " * bool(it and end)) for it in (gone, came))
    return len(" ".join(b[:start])) + bool(start), left, right


def _compare_words(hunks: _Hunks, old: str, new: str, work: Work) -> None:
    if old[:1].isspace() or new[:1].isspace():
        plain = new.lstrip()
        hunks.add("=", new[: len(new) - len(plain)])
        old, new = old.lstrip(), plain
    if not (old and new) or work.words <= 0:
        hunks.add("-", old)
        hunks.add("+", new)
        return
    if _is_word(old) and _is_word(new) and old.rstrip() != new.rstrip():  # as is usual
        hunks.add("-", old)
        hunks.add("+", new)
        return
    a, b = _WORD.findall(old), _WORD.findall(new)
    work.words -= len(a) + len(b)
    runs = match_items(_keys(a), _keys(b), work)
    for gone, came, kept in _walk(runs, a, b):
        hunks.add("-", "".join(gone))
        hunks.add("+", "".join(came))
        hunks.add("=", "".join(kept))


def _is_word(text: str) -> bool:
    """Return whether a text is clearly one word."""
    return text.isascii() and len(text.split(None, 1)) == 1


def _walk(
    runs: Sequence[Match], old: Sequence[str], new: Sequence[str]
) -> Iterator[tuple[Sequence[str], Sequence[str], Sequence[str]]]:
    """Yield the part only in the old text, the part only in the new one, then the common part."""
    at = last = 0
    for run in [*runs, Match(len(old), len(new), 0)]:
        yield old[at : run.a], new[last : run.b], new[run.b : run.b + run.size]
        at, last = run.a + run.size, run.b + run.size


def match_items(
    old: Sequence[str], new: Sequence[str], work: Work | None = None, *, anchor_chars: int = 0
) -> list[Match]:
    """Return the common runs of two sequences, in order: their starts in both, and their size.
    Unique items shorter than `anchor_chars` do not anchor a run."""
    if len(old) < 2 or len(new) < 2:
        return [Match(at, other, 1) for at, other in _find_single(old, new)]
    work = work or Work()
    found = list[tuple[int, int, int]]()
    gaps = [(0, len(old), 0, len(new), 0)]
    while gaps:
        a, a_end, b, b_end, rounds = gaps.pop()
        start, end = _shared_edges(old[a:a_end], new[b:b_end])
        found += [(a, b, start), (a_end - end, b_end - end, end)]
        a, a_end, b, b_end = a + start, a_end - end, b + start, b_end - end
        left, right = old[a:a_end], new[b:b_end]
        if len(left) < 2 or len(right) < 2:
            found += [(a + one, b + other, 1) for one, other in _find_single(left, right)]
            continue
        anchors = _find_anchors(left, right, anchor_chars) if rounds < _ROUNDS_MAX else []
        if anchors:
            places = [(a + one, b + other) for one, other in anchors]
            found += [(one, other, 1) for one, other in places]
            for one, other in [*places, (a_end, b_end)]:
                if a < one and b < other:
                    gaps.append((a, one, b, other, rounds + 1))
                a, b = one + 1, other + 1
        elif work.steps > 0:
            pairs, taken = _shortest(left, right, work.steps)
            work.steps -= taken
            found += [(a + one, b + other, 1) for one, other in pairs]
    return list(_join(sorted(found)))


def _shared_edges(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many items two sequences share at the beginning, and then at the end."""
    start = end = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        start += 1
    rest = min(len(old), len(new)) - start
    if rest:
        for one, other in zip(reversed(old), reversed(new), strict=False):
            if one != other or end == rest:
                break
            end += 1
    return start, end


def _find_single(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the common items of two sequences; one has at most one item."""
    if len(old) == 1 and old[0] in new:
        return [(0, new.index(old[0]))]
    if len(new) == 1 and new[0] in old:
        return [(old.index(new[0]), 0)]
    return []


def _find_anchors(old: Sequence[str], new: Sequence[str], chars: int) -> list[tuple[int, int]]:
    """Return the items that occur once in each sequence, as many as are in the same order."""
    counts, others = Counter(old), Counter(new)
    places = {item: at for at, item in enumerate(old) if counts[item] == 1 and len(item) >= chars}
    ends: list[int] = []
    last: list[int] = []
    nodes: list[tuple[int, int, int]] = []
    for at, item in enumerate(new):
        place = places.get(item) if others[item] == 1 else None
        if place is None:
            continue
        rank = bisect_left(ends, place)
        nodes.append((place, at, last[rank - 1] if rank else -1))
        ends[rank : rank + 1] = [place]
        last[rank : rank + 1] = [len(nodes) - 1]
    found, node = list[tuple[int, int]](), last[-1] if last else -1
    while node >= 0:
        place, at, node = nodes[node]
        found.append((place, at))
    return found[::-1]


def _shortest(
    old: Sequence[str], new: Sequence[str], steps_max: int
) -> tuple[list[tuple[int, int]], int]:
    """Return the matches by the fewest edits (Myers), and how many steps that took."""
    reached, trail, steps = {1: 0}, list[dict[int, int]](), 0
    for edits in range(min(len(old) + len(new), _EDITS_MAX) + 1):
        trail.append(dict(reached))
        steps += 2 * edits + 1
        for diagonal in range(-edits, edits + 1, 2):
            is_down = diagonal == -edits or (
                diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1]
            )
            x = reached[diagonal + 1] if is_down else reached[diagonal - 1] + 1
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y, steps = x + 1, y + 1, steps + 1
            reached[diagonal] = x
            if x >= len(old) and y >= len(new):
                return _trace(trail, len(old), len(new)), steps
        if steps > steps_max:
            break
    return [], steps


def _trace(trail: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    """Go back from the end to the beginning; return the items passed without an edit."""
    found = []
    for edits in range(len(trail) - 1, -1, -1):
        reached, diagonal = trail[edits], x - y
        is_down = diagonal == -edits or (
            diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1]
        )
        before = diagonal + 1 if is_down else diagonal - 1
        start = reached[before] if edits else 0
        least = start - before if edits else 0
        while x > start and y > least:
            x, y = x - 1, y - 1
            found.append((x, y))
        x, y = start, least
    return found


def _join(found: Sequence[tuple[int, int, int]]) -> Iterator[Match]:
    """Yield runs; those adjacent in both sequences are joined."""
    start, other, size = 0, 0, 0
    for one, at, count in found:
        if (one, at) == (start + size, other + size):
            size += count
            continue
        if size:
            yield Match(start, other, size)
        start, other, size = one, at, count
    if size:
        yield Match(start, other, size)


def _keys(texts: Sequence[str]) -> list[str]:
    """Return texts in the form that is compared: without white space around them."""
    keys = [*map(str.strip, texts)]
    if all(map(str.isascii, keys)):
        return keys
    return [one if one.isascii() else unicodedata.normalize("NFC", one) for one in keys]
