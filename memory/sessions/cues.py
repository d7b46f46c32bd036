"""Words by which a person binds the work: rules they set, choices they made, what they ruled out.

Only what the user typed is read, and only whole sentences are kept, as they stand: so no output,
file or page can plant a rule. Each row of `cues.txt` has a sentence that it is for; a test tries
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from base.wordlist import read_rows
from memory.texts import cut_bytes

SENTENCE_BYTES_MAX = 150
"""A longer sentence is cut at this many bytes, between words."""

BINDINGS_PER_PROMPT = 12
PROMPT_CHARS_READ = 65_536
END_CHARS_READ = 4096
"""Of a longer prompt the beginning and so much of its end count: the middle is as a rule a pasted
text, which a person's words stand before or behind."""

BINDINGS_PER_END = 6

CUES = tuple(read_rows(__file__, "cues.txt"))
# Looked for in lower case: an expression that ignores the case takes twice as long.
_COMPILED = tuple((binding, re.compile(pattern)) for binding, pattern, _ in CUES)
# A sentence ends at a mark before a space, or with its line; a list's mark is none of its words.
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])\s*|\n+")  # noqa: RUF001 - wide marks
_LIST_MARK = re.compile(r"^\s*(?:[-*+•>]|\d{1,3}[.)])\s+")
_CODE_FENCE = "```"


def find_bindings(prompt: str, end: str = "") -> Iterator[tuple[str, str]]:
    """Yield each binding sentence of a prompt, verbatim, with what it is. `end` is the end of a
    prompt that is longer than what is read of it."""
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
    """Yield the sentences of a prompt's end, but for its first, which may lack its beginning; a
    block of code that began before ends at the first of an odd number of fences."""
    begin = _SENTENCE_END.search(end)
    rest = end[begin.end() :] if begin else ""
    fences = sum(line.lstrip().startswith(_CODE_FENCE) for line in rest.split("\n"))
    return _split(rest, is_code=fences % 2 == 1)


def _split(prompt: str, *, is_code: bool) -> Iterator[str]:
    """Yield the sentences outside of fenced code; what is quoted or indented as code is none.
    `is_code` says whether it begins within such code."""
    for line in prompt.split("\n"):
        if line.lstrip().startswith(_CODE_FENCE):
            is_code = not is_code
        elif not is_code and not line.startswith((">", "#", "    ", "\t")):
            for sentence in _SENTENCE_END.split(_LIST_MARK.sub("", line)):
                words = sentence.strip()
                if len(words) > 3:
                    yield words
