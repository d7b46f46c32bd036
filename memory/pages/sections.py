"""The sections of a page: the texts below its headings of level 2, as in CommonMark.

A clear heading needs no parser: it begins its line, and nothing before it is open. markdown-it
decides the others, up to a number of lines that limits its time.

Sections of two versions are first paired by the same heading and ordinal. The others are paired by
the largest share of common words, from `SIMILAR_PERCENT`; ties by position.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt

PARSED_LINES_MAX = 40_000
"""Most lines of a page for the parser; unclear headings after them do not divide."""

_BLOCKS = MarkdownIt("commonmark").disable("inline")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
# Possible headings of level 2, or what may hide one: fences, HTML, other headings, underlines.
_EVENT = re.compile(r"^ {0,3}(?:#{1,6}(?=[ \t\n]|\Z)|`{3,}|~{3,}|<|-+[ \t]*$)", re.MULTILINE)
_CERTAIN = re.compile(r"^#{1,6}(?=[ \t\n]|\Z)", re.MULTILINE)
_ATX = re.compile(r" {0,3}##(?:[ \t]+(.*)|)\Z", re.DOTALL)
_CLOSING_MARKS = re.compile(r"(?:^|[ \t]+)#+[ \t]*\Z")

SIMILAR_PERCENT = 70
"""Percentage of words that two similar sections must share."""

WORK_MAX = 20_000_000
"""Limit of comparisons: pairs of sections times their words. Beyond, a section is compared only
with those at nearly the same place."""

PAIRS_MAX = 200_000

# Scripts without spaces between words: two neighbouring signs count as a word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
_OUTER = (
    "".join(sign for sign in map(chr, range(0x10000)) if unicodedata.category(sign)[0] == "P")
    + "`|~<>=^"
)

Pair = tuple[int, int]
"""The places of a section in the old and the new version."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its heading in one line, the lines of the heading, and the lines below."""

    heading: str
    head: str
    body: str

    @property
    def text(self) -> str:
        return self.head + self.body


Sections = tuple[str, tuple[Section, ...]]
"""A page's Markdown: the text before the first section, and the sections. Joined, they are the
Markdown, byte for byte."""


def split_sections(markdown: str) -> Sections:
    """Divide a page's Markdown at its headings of level 2."""
    plain = plain_lines(markdown)
    heads = list(_find_heads(plain))
    if not heads:
        return markdown, ()
    offsets = _line_starts(markdown) if "\r" in markdown else None

    edges, last, count = list[tuple[int, int]](), 0, 0
    if offsets is None:
        edges = heads
    else:
        for start, end in heads:  # counted from the last one, not from the beginning
            count += plain.count("\n", last, start)
            first = offsets[count]
            count += plain.count("\n", start, end)
            ends_line = plain[end - 1 : end] == "\n"
            edges.append((first, offsets[count] if ends_line else len(markdown)))
            last = end
    stops = [start for start, _ in edges[1:]] + [len(markdown)]
    sections = tuple(
        Section(_heading_of(markdown[start:end]), markdown[start:end], markdown[end:stop])
        for (start, end), stop in zip(edges, stops, strict=True)
    )
    return markdown[: edges[0][0]], sections


def plain_lines(text: str) -> str:
    """Return a text whose lines end in line feeds only."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def name_of(heading: str) -> str:
    """Return the name that equal headings have in common."""
    return heading if heading.isascii() else unicodedata.normalize("NFC", heading)


def _line_starts(text: str) -> list[int]:
    return [match.start() for match in _LINE.finditer(text)] + [len(text)]


def _heading_of(head: str) -> str:
    lines = plain_lines(head).rstrip("\n")
    atx = _ATX.match(lines) if "\n" not in lines else None
    if atx:
        return " ".join(_CLOSING_MARKS.sub("", atx[1] or "").split())
    return " ".join(lines.rpartition("\n")[0].split())


def _find_heads(text: str) -> Iterator[tuple[int, int]]:
    """Yield the first line and the line after, for each heading of level 2. `fresh` is a place
    where nothing is open: no list, no fence, no paragraph."""
    fresh, at, lines_left = 0, 0, PARSED_LINES_MAX
    while event := _EVENT.search(text, at):
        start, end = event.start(), _line_end(text, event.start())
        mark = event[0]
        if mark[0] == "#":
            if mark == "##":
                yield start, end
            fresh = at = end
        elif mark[0] in "`~" and _is_fence(text[start:end], mark):
            fresh = at = _close_fence(text, end, mark)
        elif mark.lstrip()[0] == "-" and _follows_blank(text, start):
            at = end  # a rule or an empty item: after a blank line, it underlines nothing
        elif mark.lstrip()[0] == "#" and mark.lstrip() != "##":
            at = end  # another heading, perhaps inside a list
        else:
            found, stop, read = _parse(text, fresh, end, lines_left)
            yield from found
            lines_left -= read
            if stop is None:
                return
            fresh = at = stop


def _parse(
    text: str, start: int, least: int, lines_left: int
) -> tuple[list[tuple[int, int]], int | None, int]:
    """Parse the text, from one place where nothing is open to the next. Return the headings, the
    next place (None at the end), and how many lines were read."""
    size, read = 4096, 0
    while True:
        following = _CERTAIN.search(text, max(least, min(start + size, len(text))))
        stop = following.start() if following else len(text)
        part = text[start:stop]
        count = part.count("\n") + 1
        read += count
        if read > lines_left:
            return [], None, read
        tokens = _BLOCKS.parse(part)
        top = [token for token in tokens if not token.level and token.map]
        last = top[-1] if top else None
        is_open = last is not None and last.type in ("fence", "html_block")
        if stop < len(text) and is_open and last and last.map and last.map[1] >= count - 1:
            size = (stop - start) * 2  # it may extend further
            continue
        edges = [0]
        for line in part.split("\n"):
            edges.append(edges[-1] + len(line) + 1)
        found = [
            (start + edges[token.map[0]], min(start + edges[token.map[1]], stop))
            for token in top
            if token.type == "heading_open" and token.tag == "h2" and token.map
        ]
        return found, stop if stop < len(text) else None, read


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _is_fence(line: str, mark: str) -> bool:
    return mark[0] == "~" or "`" not in line[len(mark) :]


def _close_fence(text: str, at: int, mark: str) -> int:
    """Return the line after a fence."""
    closing = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$", re.MULTILINE)
    found = closing.search(text, at)
    return _line_end(text, found.start()) if found else len(text)


def _follows_blank(text: str, start: int) -> bool:
    before = text.rfind("\n", 0, max(start - 1, 0)) + 1
    return not text[before : max(start - 1, 0)].strip(" \t")


def pair_sections(old: Sequence[Section], new: Sequence[Section]) -> tuple[Pair, ...]:
    """Return the sections that are in both versions, in the order of the new one."""
    places = {key: at for at, key in enumerate(_keys(old))}
    pairs = [(places[key], at) for at, key in enumerate(_keys(new)) if key in places]
    olds, news = {old_at for old_at, _ in pairs}, {new_at for _, new_at in pairs}
    left = [at for at in range(len(old)) if at not in olds]
    right = [at for at in range(len(new)) if at not in news]
    if left and right:
        found = _pair_similar([old[at].body for at in left], [new[at].body for at in right])
        pairs += [(left[a], right[b]) for a, b in found]
    return tuple(sorted(pairs, key=lambda one: one[1]))


def find_moved(pairs: Sequence[Pair]) -> frozenset[int]:
    """Return the places, in the new version, of the smallest set of moved sections."""
    ends: list[int] = []
    last: list[int] = []
    before = [-1] * len(pairs)
    for at, (old, _) in enumerate(pairs):
        rank = bisect_left(ends, old)
        before[at] = last[rank - 1] if rank else -1
        ends[rank : rank + 1] = [old]
        last[rank : rank + 1] = [at]
    kept, at = set[int](), last[-1] if last else -1
    while at >= 0:
        kept.add(at)
        at = before[at]
    return frozenset(new for at, (_, new) in enumerate(pairs) if at not in kept)


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, without case, spelling of accents and outer punctuation."""
    plain = text.casefold() if text.isascii() else unicodedata.normalize("NFC", text.casefold())
    words = {word.strip(_OUTER) for word in plain.split()}
    if not plain.isascii():
        for word in [one for one in words if _UNSPACED.search(one)]:
            words.discard(word)
            words.update(_split_unspaced(word))
    words.discard("")
    return frozenset(words)


def _split_unspaced(word: str) -> Iterator[str]:
    yield from (piece.strip(_OUTER) for piece in _UNSPACED.split(word))
    for run in _UNSPACED.findall(word):
        yield from (run[at : at + 2] for at in range(max(len(run) - 1, 1)))


def _keys(sections: Sequence[Section]) -> Iterator[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for one in sections:
        name = name_of(one.heading)
        counts[name] += 1
        yield name, counts[name]


def _pair_similar(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    a, b = [word_set(one) for one in old], [word_set(one) for one in new]
    # Equal sets are the most similar, and each pairs only with its equals.
    waiting: dict[frozenset[str], deque[int]] = defaultdict(deque)
    for at, words in enumerate(b):
        waiting[words].append(at)
    pairs = [(at, waiting[words].popleft()) for at, words in enumerate(a) if waiting.get(words)]
    olds, news = {one for one, _ in pairs}, {one for _, one in pairs}
    left = [at for at in range(len(a)) if at not in olds and a[at]]
    right = [at for at in range(len(b)) if at not in news and b[at]]
    scored = sorted(_score({at: a[at] for at in left}, {at: b[at] for at in right}))
    for _, one, other in scored:
        if one not in olds and other not in news:
            olds.add(one)
            news.add(other)
            pairs.append((one, other))
    return pairs


def _score(
    old: Mapping[int, frozenset[str]], new: Mapping[int, frozenset[str]]
) -> Iterator[tuple[float, int, int]]:
    """Yield the pairs that are similar enough: their dissimilarity, and their places."""
    a, b = [*old.items()], [*new.items()]
    words = sum(map(len, new.values()))
    most = min(PAIRS_MAX, WORK_MAX // (words // max(len(b), 1) + 8))
    reach = len(b) if len(a) * len(b) <= most else max(most // (2 * max(len(a), 1)), 1)
    for rank, (one, own) in enumerate(a):
        near = rank * len(b) // len(a)
        for other, others in b[max(near - reach, 0) : near + reach + 1]:
            smaller, larger = sorted((len(own), len(others)))
            if smaller * 100 < larger * SIMILAR_PERCENT:
                continue
            count = len(own & others)
            together = smaller + larger - count
            # In whole numbers: exact equality is enough.
            if count * 100 >= together * SIMILAR_PERCENT:
                yield -count / together, one, other
