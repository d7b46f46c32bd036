"""Which section of one version of a page is which of another (C14, C15).

The same heading and ordinal come first; then of all others the pair that shares the most words,
from `SIMILAR_PERCENT` on, ties by position.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memory.pages.sections import Section, name_of

SIMILAR_PERCENT = 70
"""So many of the words of both have to be in both."""

WORK_MAX = 40_000_000
"""How much is compared: pairs of sections times 64-bit pieces of their words. Beyond, a section is
compared with those at nearly the same place alone."""

PAIRS_MAX = 200_000

# Scripts that put no spaces between words: two neighbouring signs stand for a word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
_OUTER = (
    "".join(sign for sign in map(chr, range(0x10000)) if unicodedata.category(sign)[0] == "P")
    + "`|~<>=^"
)


@dataclass(frozen=True, slots=True)
class Pair:
    """The places of a section in both versions."""

    old: int
    new: int


def pair_sections(old: Sequence[Section], new: Sequence[Section]) -> tuple[Pair, ...]:
    """Return the sections that are in both versions, in the order of the new one."""
    places = {key: at for at, key in enumerate(_keys(old))}
    pairs = [Pair(places[key], at) for at, key in enumerate(_keys(new)) if key in places]
    olds, news = {one.old for one in pairs}, {one.new for one in pairs}
    left = [at for at in range(len(old)) if at not in olds]
    right = [at for at in range(len(new)) if at not in news]
    if left and right:
        found = _pair_similar([old[at].body for at in left], [new[at].body for at in right])
        pairs += [Pair(left[a], right[b]) for a, b in found]
    return tuple(sorted(pairs, key=lambda one: one.new))


def find_moved(pairs: Sequence[Pair]) -> frozenset[int]:
    """Return the places in the new version of the fewest sections that were moved."""
    ends: list[int] = []
    last: list[int] = []
    before = [-1] * len(pairs)
    for at, pair in enumerate(pairs):
        rank = bisect_left(ends, pair.old)
        before[at] = last[rank - 1] if rank else -1
        ends[rank : rank + 1] = [pair.old]
        last[rank : rank + 1] = [at]
    kept, at = set[int](), last[-1] if last else -1
    while at >= 0:
        kept.add(at)
        at = before[at]
    return frozenset(pair.new for at, pair in enumerate(pairs) if at not in kept)


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, without case, accents' spelling and outer punctuation."""
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
    # Equal sets are the most similar of all, and each is equal to its own kind alone.
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
    """Yield the pairs that are similar enough: how dissimilar, and their places."""
    shared = frozenset().union(*old.values()) & frozenset().union(*new.values())
    bits = {word: at for at, word in enumerate(sorted(shared))}
    a = [(at, len(words), _mask(words, bits)) for at, words in old.items()]
    b = [(at, len(words), _mask(words, bits)) for at, words in new.items()]
    most = min(PAIRS_MAX, WORK_MAX // (len(bits) // 64 + 8))
    reach = len(b) if len(a) * len(b) <= most else max(most // (2 * max(len(a), 1)), 1)
    for rank, (one, size, mask) in enumerate(a):
        near = rank * len(b) // len(a)
        for other, other_size, other_mask in b[max(near - reach, 0) : near + reach + 1]:
            smaller, larger = sorted((size, other_size))
            if smaller * 100 < larger * SIMILAR_PERCENT:
                continue
            count = (mask & other_mask).bit_count()
            together = size + other_size - count
            if count * 100 >= together * SIMILAR_PERCENT:  # in whole numbers: exactly is enough
                yield -count / together, one, other


def _mask(words: frozenset[str], bits: Mapping[str, int]) -> int:
    data = bytearray(len(bits) // 8 + 1)
    for word in words:
        at = bits.get(word)
        if at is not None:
            data[at >> 3] |= 1 << (at & 7)
    return int.from_bytes(data, "little")
