"""Common words and lines of texts, found by `git diff`. Its time and output are limited."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from difflib import Match
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.pages.git import Git
from memory.pages.model import GitError, Hunk

SECONDS_MAX = 10.0
"""Limit of a comparison's time; texts that take longer differ as a whole."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"\s*(?:[{_UNSPACED}]|[^\s{_UNSPACED}]+)\s*|\s+")
# A line or a sentence. Blank lines and the next line's indentation belong to it, like white space
# to a word.
_PIECE = re.compile(r"(?=[\s\S])[^\n.\u3002]*(?:\.(?!\s)[^\n.\u3002]*)*[\n.\u3002]?\s*")
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_ANCHOR = " "
"""The beginning of lines that git never counts as changed; no compared item begins with it."""

_DIFF = (
    *("diff", "--no-index", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color"),
    *("--no-prefix", "--text", "--unified=0", "--inter-hunk-context=0"),
    f"--anchored={_ANCHOR}",
)

Texts = tuple[str, str]
"""An old and a new text."""

Items = tuple[Sequence[str], Sequence[str]]
"""The words or lines of an old and a new text."""


def without_repository() -> Git:
    """Return a runner of git that reads no repository, and so no settings of one."""
    return Git(Path("/dev/null"), {}, seconds_max=SECONDS_MAX)


def word_hunks(pairs: Sequence[Texts]) -> list[tuple[Hunk, ...]]:
    """Return for each two texts their common parts, and the parts of one only, word by word. Common
    lines and sentences are found first, and words are compared only between them. White space
    belongs to the word before it and is not compared. The texts of `=` and `+` form the new text.
    """
    pieces = [(_PIECE.findall(old), _PIECE.findall(new)) for old, new in pairs]
    parts = [
        part
        for found, (old, new) in zip(match_each(pieces), pieces, strict=True)
        for part in _walk(found, old, new)
    ]
    words = [(_WORD.findall(gone), _WORD.findall(came)) for gone, came, _ in parts]
    hunks, marked = list[tuple[Hunk, ...]](), list[Hunk]()
    for runs, (old, new), (_, _, kept) in zip(match_each(words), words, parts, strict=True):
        for gone, came, common in _walk(runs, old, new):
            marked += (("-", gone), ("+", came), ("=", common))
        marked.append(("=", kept))
        if not kept:  # the last part of two texts
            hunks.append(tuple(_join(marked)))
            marked.clear()
    return hunks


def _walk(
    runs: Sequence[Match], old: Sequence[str], new: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield the part only in the old text, the part only in the new one, then the common part; it
    is empty only at the end."""
    at = last = 0
    for run in [*runs, Match(len(old), len(new), 0)]:
        parts = (old[at : run.a], new[last : run.b], new[run.b : run.b + run.size])
        gone, came, common = map("".join, parts)
        yield gone, came, common
        at, last = run.a + run.size, run.b + run.size


def _join(hunks: Sequence[Hunk]) -> Iterator[Hunk]:
    """Yield hunks without empty ones; neighbours with the same mark are joined. White space alone
    is never a difference."""
    last: Hunk = ("=", "")
    for mark, text in hunks:
        if not text or (mark == "-" and text.isspace()):
            continue
        one: Hunk = ("=", text) if text.isspace() else (mark, text)
        if one[0] == last[0]:
            last = (last[0], last[1] + text)
        else:
            if last[1]:
                yield last
            last = one
    if last[1]:
        yield last


def match_each(pairs: Sequence[Items]) -> list[list[Match]]:
    """Return for each two sequences their common runs, in order: the starts in both, and the size.
    Items are compared without white space around them. All are compared by one process."""
    keys = [(_keys(old), _keys(new)) for old, new in pairs]
    wanted = [number for number, (old, new) in enumerate(keys) if old and new and old != new]
    found = [[Match(0, 0, len(old))] if old and old == new else [] for old, new in keys]
    if wanted:
        changes = _compare([keys[number] for number in wanted])
        for number, edges in zip(wanted, changes, strict=True):
            found[number] = list(_common(edges, len(keys[number][0])))
    return found


Change = tuple[int, int, int, int]
"""A run of old items that became a run of new ones: their starts and ends."""


def _common(changes: Sequence[Change], size: int) -> Iterator[Match]:
    at = last = 0
    for start, end, _, other_end in [*changes, (size, size, 0, 0)]:
        if start > at:
            yield Match(at, last, start - at)
        at, last = end, other_end


def _compare(pairs: Sequence[tuple[list[str], list[str]]]) -> list[list[Change]]:
    """Return the differences of sequences, by one run of git on two files, in which each sequence
    follows a line that only git's anchors begin like. If git fails, they differ as a whole."""
    places: tuple[list[int], list[int]] = ([], [])
    with TemporaryDirectory(prefix="context-mode-") as folder:
        for side, starts in enumerate(places):
            lines = list[str]()
            for number, items in enumerate(pairs):
                starts.append(len(lines))
                lines += (f"{_ANCHOR}{number}", *items[side])
            text = "".join(f"{line}\n" for line in lines)
            Path(folder, str(side)).write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            code, said, _ = without_repository().try_run(*_DIFF, f"{folder}/0", f"{folder}/1")
        except GitError:
            code, said = -1, b""
    if code not in (0, 1):
        return [[(0, len(old), 0, len(new))] for old, new in pairs]
    found: list[list[Change]] = [[] for _ in pairs]
    for hunk in _HUNK.finditer(said):
        start, size, other, other_size = (1 if one is None else int(one) for one in hunk.groups())
        start, other = start - bool(size), other - bool(other_size)
        number = bisect_left(places[0], start) - 1
        assert number == bisect_left(places[1], other) - 1
        start, other = start - places[0][number] - 1, other - places[1][number] - 1
        found[number].append((start, start + size, other, other + other_size))
    return found


def _keys(texts: Sequence[str]) -> list[str]:
    """Return texts in the form that is compared: without white space around them."""
    keys = [*map(str.strip, texts)]
    if all(map(str.isascii, keys)):
        return keys
    return [one if one.isascii() else unicodedata.normalize("NFC", one) for one in keys]
