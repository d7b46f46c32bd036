"""Packing of marks into chunks: split the large, merge the small, tile the source exactly.

This is the one place that cuts, so its guarantees (order, coverage, the cap) hold for every kind of
source whatever its chunker marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from kb.decoding import strip

TARGET_BYTES = 1500
"""The intended size of a chunk: small enough to be an answer, large enough to be clear alone."""

CAP_BYTES = 4096
"""The limit for chunks of every kind and shape."""

MERGE_BYTES = 400
"""Neighbours below this join if they have the same parent."""


class Mark(NamedTuple):
    """A section that starts here and lasts until the next mark, so marks tile their source.

    A tuple rather than a dataclass because a source has thousands.
    """

    start: int
    title: tuple[str, ...] = ()
    whole: bool = False  # stay in one chunk while under the cap: a fence, a table, a stack trace
    language: str | None = None
    identifiers: tuple[str, ...] = ()
    alone: bool = False  # it joins no neighbour, however small


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece of a source.

    Chunks of a source tile it: each starts where the one before ended. Lines count from 1 and are
    ended by a line feed.
    """

    title: tuple[str, ...]
    text: str  # the bytes [start_byte, end_byte) as UTF-8; what is not UTF-8 is U+FFFD
    kind: str
    language: str | None
    start_byte: int
    end_byte: int
    start_line: int
    end_line: int  # the line of the last byte
    identifiers: tuple[str, ...] = ()
    raw: bytes | None = None  # the bytes themselves, where not all are UTF-8
    search_terms: str | None = None  # more words that find this text; None if it is replaced

    @property
    def title_text(self) -> str:
        return " > ".join(self.title)


@dataclass(frozen=True, slots=True)
class ChunkedDocument:
    """The chunked form of one source: its kind, its chunks in order, and notes on failures."""

    kind: str
    language: str | None
    chunks: tuple[Chunk, ...]
    notes: tuple[str, ...] = ()
    state: str | None = None  # of a part of a source: what chunking the next part needs to know
    vocabulary: frozenset[str] | None = None  # what typing mistakes are corrected against, if known

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self.chunks)

    def __len__(self) -> int:
        return len(self.chunks)


def no_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield nothing: plain text has no sections, so the packer alone cuts it at blank lines."""
    yield from ()


TITLE_BYTES = 200
"""A title is a signpost: longer path elements are cut, however long the source's line was."""

TITLE_DEPTH = 12
"""Deeper paths keep their outermost and innermost elements."""

TINY_BYTES = 100
"""A piece below this joins the next of any size under the same parent."""

_SOFT_BREAKS = (b"\r", b"; ", b";", b", ", b",", b" ", b"\t", b"}", b"]", b">")
_FIRST_LINE = re.compile(rb"[^\s][^\r\n]{0,400}")


class _Group(NamedTuple):
    """Neighbouring pieces of marked sections, one at first."""

    start: int
    end: int
    marks: tuple[Mark, ...]
    largest: int
    lead: Mark
    """The mark of the largest piece."""


def pack(  # noqa: PLR0913 - where the part stands is four numbers and names
    data: bytes,
    marks: Iterable[Mark],
    *,
    kind: str,
    language: str | None = None,
    base_byte: int = 0,
    base_line: int = 1,
) -> Iterator[Chunk]:
    """Yield the chunks of `data` as `marks` divide it.

    `base_byte` and `base_line` are where `data` begins in its source, for one that arrives in
    parts. Marks out of order are dropped, so that a chunker's error never breaks the tiling.
    """
    line = base_line
    for group in _group(data, _pieces(data, marks)):
        newlines = data.count(b"\n", group.start, group.end)
        ends_line = data[group.end - 1] == 0x0A
        source = data[group.start : group.end]
        text, raw = text_and_raw(source)
        yield Chunk(
            title=_title(group, source),
            text=text,
            kind=kind,
            language=next((m.language for m in group.marks if m.language), language),
            start_byte=base_byte + group.start,
            end_byte=base_byte + group.end,
            start_line=line,
            end_line=line + newlines - ends_line,
            identifiers=tuple(dict.fromkeys(n for m in group.marks for n in m.identifiers)),
            raw=raw,
        )
        line += newlines


def text_and_raw(source: bytes) -> tuple[str, bytes | None]:
    """Return the text of a chunk's bytes, and the bytes if the text does not preserve them."""
    text = source.decode("utf-8", "replace")
    return text, source if "\ufffd" in text and text.encode() != source else None


def _pieces(data: bytes, marks: Iterable[Mark]) -> Iterator[_Group]:
    """Yield every marked section in order; large ones are cut into several under the same mark."""
    open_mark = Mark(0)
    for mark in marks:
        if mark.start > open_mark.start:
            if mark.start >= len(data):
                break
            yield from _cut(data, open_mark.start, mark.start, open_mark)
        elif mark.start < open_mark.start:
            continue
        open_mark = mark
    if open_mark.start < len(data):
        yield from _cut(data, open_mark.start, len(data), open_mark)


def _cut(data: bytes, start: int, end: int, mark: Mark) -> Iterator[_Group]:
    limit = CAP_BYTES if mark.whole else TARGET_BYTES
    while end - start > limit:
        cut = _cut_point(data, start, end)
        yield _Group(start, cut, (mark,), cut - start, mark)
        start = cut
    yield _Group(start, end, (mark,), end - start, mark)


def _cut_point(data: bytes, start: int, end: int) -> int:
    """Find the best place to end a piece from `start`: blank line, line, word, code point."""
    target, cap = start + TARGET_BYTES, start + CAP_BYTES
    for separator in (b"\n\n", b"\r\n\r\n"):
        found = data.rfind(separator, start + TARGET_BYTES // 2, target)
        if found >= 0:
            return found + len(separator)
    found = data.rfind(b"\n", start, target)
    if found < 0:
        found = data.find(b"\n", target, min(cap, end))
    if found >= 0:
        return found + 1
    if end <= cap:
        return end
    for separator in _SOFT_BREAKS:
        found = data.rfind(separator, start + CAP_BYTES * 3 // 4, cap)
        if found >= 0:
            return found + len(separator)
    return code_point_boundary(data, cap)


def code_point_boundary(data: bytes, at: int) -> int:
    """Return `at`, or up to three bytes before it, so that no UTF-8 sequence is cut in two."""
    for back in range(4):
        if at - back <= 0 or at - back >= len(data) or data[at - back] & 0xC0 != 0x80:
            return at - back
    return at


def _group(data: bytes, pieces: Iterable[_Group]) -> Iterator[_Group]:
    """Join neighbours that read better as one chunk than as two."""
    group: _Group | None = None
    for piece in pieces:
        if group is not None and _joins(data, group, piece):
            marks = group.marks if group.marks[-1] is piece.lead else (*group.marks, piece.lead)
            largest = max(group, piece, key=lambda one: one.largest)
            group = _Group(group.start, piece.end, marks, largest.largest, largest.lead)
            continue
        if group is not None:
            yield group
        group = piece
    if group is not None:
        yield group


def _joins(data: bytes, group: _Group, piece: _Group) -> bool:
    size, together = piece.largest, piece.end - group.start
    if together > CAP_BYTES:
        return False
    if size < MERGE_BYTES and not _has_words(data, piece):
        return True
    if group.lead.alone or piece.lead.alone:
        nothing = group.largest < TINY_BYTES and not _has_words(data, group)
        return nothing or (group.marks[-1] is piece.lead and together <= TARGET_BYTES)
    tiny = group.end - group.start < TINY_BYTES
    if together > TARGET_BYTES + tiny * TINY_BYTES:
        return False
    last = group.marks[-1].title
    introduces = len(group.marks) == 1 and group.end - group.start < MERGE_BYTES
    within = introduces and piece.lead.title[: len(last)] == last
    if within or last == piece.lead.title:
        return True
    small = tiny or (group.largest < MERGE_BYTES and size < MERGE_BYTES)
    alike = group.marks[-1].whole == piece.lead.whole
    return small and alike and last[:-1] == piece.lead.title[: max(len(last) - 1, 0)]


_WORD = re.compile(rb"[0-9A-Za-z\x80-\xff]")


def _has_words(data: bytes, piece: _Group) -> bool:
    return _WORD.search(data, piece.start, piece.end) is not None


def _title(group: _Group, raw: bytes) -> tuple[str, ...]:
    """Return the group's path: that of its one large piece, else the shared parent and leaves."""
    if group.largest >= MERGE_BYTES and group.lead.title:
        return _bound_title(group.lead.title)
    titles = list(dict.fromkeys(m.title for m in group.marks if m.title))
    # A section that only introduces the next has the deeper one's path.
    titles = [a for a, b in zip_longest(titles, titles[1:]) if b is None or b[: len(a)] != a]
    if not titles:
        first = _FIRST_LINE.search(strip(raw))
        return (_shorten(first.group().decode("utf-8", "replace"), 80),) if first else ()
    if len(titles) == 1:
        return _bound_title(titles[0])
    shared = _common_prefix(titles)
    leaves = list(dict.fromkeys(t[len(shared)] for t in titles if len(t) > len(shared)))
    if not leaves:
        return _bound_title(shared)
    joined = ", ".join(leaves)
    if len(joined) > TITLE_BYTES:
        joined = f"{_shorten(leaves[0], 80)} … {_shorten(leaves[-1], 80)}"
    return _bound_title((*shared, joined))


def _common_prefix(titles: list[tuple[str, ...]]) -> tuple[str, ...]:
    low, high = min(titles), max(titles)
    for depth, (a, b) in enumerate(zip(low, high, strict=False)):
        if a != b:
            return low[:depth]
    return low


def _bound_title(title: tuple[str, ...]) -> tuple[str, ...]:
    if len(title) > TITLE_DEPTH:
        half = TITLE_DEPTH // 2
        title = (*title[:half], "…", *title[-half:])
    return tuple(_shorten(part, TITLE_BYTES) for part in title)


def _shorten(text: str, limit: int) -> str:
    text = text.strip()
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
