"""Cue words of users' rules, decisions and exclusions.

Only the user's own text is read, and only whole sentences are stored, verbatim: so no output, file
or page can plant a rule. Each row of `cues.txt` has an example sentence; a test tries them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from base.wordlist import read_rows
from memory.texts import cut_bytes

SENTENCE_BYTES_MAX = 150
"""Bytes at which a longer sentence is cut, between words."""

BINDINGS_PER_PROMPT = 12
PROMPT_CHARS_READ = 65_536
END_CHARS_READ = 4096
"""Characters read from the end of a longer prompt, besides its beginning: the middle is usually
pasted text, with the user's own words before or after it."""

BINDINGS_PER_END = 6

CUES = tuple(read_rows(__file__, "cues.txt"))
# Searched in lower case: an expression that ignores the case takes twice as long.
_COMPILED = tuple((binding, re.compile(pattern)) for binding, pattern, _ in CUES)
# A sentence ends at a mark before a space, or with its line; list marks are not words.
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])\s*|\n+")  # noqa: RUF001 - wide marks
_LIST_MARK = re.compile(r"^\s*(?:[-*+•>]|\d{1,3}[.)])\s+")
_CODE_FENCE = "```"


def find_bindings(prompt: str, end: str = "") -> Iterator[tuple[str, str]]:
    """Yield each binding sentence of a prompt, verbatim, with its kind. `end` is the end of a
    prompt that is too long to be read whole."""
    found: dict[str, str] = {}
    for sentence in _split(prompt[:PROMPT_CHARS_READ], is_code=False):
        if kind := _classify(sentence):
            found.setdefault(cut_bytes(sentence, SENTENCE_BYTES_MAX), kind)
        if len(found) == BINDINGS_PER_PROMPT:
            break
    most = len(found) + BINDINGS_PER_END
    for sentence in _split_end(end[-END_CHARS_READ:]):
        if len(found) < most and (kind := _classify(sentence)):
            found.setdefault(cut_bytes(sentence, SENTENCE_BYTES_MAX), kind)
    for sentence, kind in found.items():
        yield kind, sentence


def _classify(sentence: str) -> str | None:
    lowered = sentence.lower()
    return next((kind for kind, pattern in _COMPILED if pattern.search(lowered)), None)


def _split_end(end: str) -> Iterator[str]:
    """Yield the sentences of a prompt's end, without the first, which may be incomplete. An odd
    number of fences means that it begins in a block of code, which ends at the first."""
    begin = _SENTENCE_END.search(end)
    rest = end[begin.end() :] if begin else ""
    fences = sum(line.lstrip().startswith(_CODE_FENCE) for line in rest.split("\n"))
    return _split(rest, is_code=fences % 2 == 1)


def _split(prompt: str, *, is_code: bool) -> Iterator[str]:
    """Yield the sentences outside fenced code, quotations and indented code. `is_code` says whether
    the text begins in fenced code."""
    for line in prompt.split("\n"):
        if line.lstrip().startswith(_CODE_FENCE):
            is_code = not is_code
        elif not is_code and not line.startswith((">", "#", "    ", "\t")):
            for sentence in _SENTENCE_END.split(_LIST_MARK.sub("", line)):
                words = sentence.strip()
                if len(words) > 3:
                    yield words
