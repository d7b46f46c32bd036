"""Words by which a person binds the work: rules they set, choices they made, what they ruled out.

Only what the user typed is read, and only whole sentences are kept, as they stand: so no output,
file or page can plant a rule. Each row has a sentence that it is for; a test tries them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from memory.texts import cut_bytes

Binding = Literal["constraint", "decision", "rejected"]
SENTENCE_BYTES_MAX = 150
"""A longer sentence is cut at this many bytes, between words."""

BINDINGS_PER_PROMPT = 12
PROMPT_CHARS_READ = 65_536
END_CHARS_READ = 4096
"""Of a longer prompt the beginning and so much of its end count: the middle is as a rule a pasted
text, which a person's words stand before or behind."""

BINDINGS_PER_END = 6

CUES: tuple[tuple[Binding, str, str], ...] = (
    ("rejected", r"\b(?:instead of|rather than)\b", "Use sqlite instead of postgres."),
    (
        "rejected",
        r"\b(?:don'?t|do not|never|not|no longer|stop|avoid)\s+"
        r"(?:want|like|use|using|go with|do it)\b",
        "Don't use regular expressions for that.",
    ),
    (
        "rejected",
        r"\b(?:reject(?:ed|s)?|rule(?:d)? out|discard(?:ed)?|drop(?:ped)? the idea|throw out|"
        r"abandon(?:ed)?|scrap(?:ped)?|gave up on|give up on|decided against|not an option)\b",
        "We decided against a daemon.",
    ),
    (
        "rejected",
        r"\b(?:did ?n[o']t|does ?n[o']t|won'?t)\s+work\b|\bwas a bad idea\b|\btoo (?:slow|complex|"
        r"fragile|heavy)\b",
        "The polling approach didn't work.",
    ),
    ("rejected", r"^no,|\bundo\b|\brevert\b|\bback out\b", "No, that belongs into the parser."),
    (
        "decision",
        r"\b(?:let'?s|let us|we'?ll|we will|we should|i'?ll|i'?d rather|we)\s+(?:go with|go for|"
        r"use|take|keep|stick (?:with|to)|do|switch to|move to|make)\b",
        "Let's go with the second approach.",
    ),
    (
        "decision",
        r"\b(?:decision|decided|agreed|settled on|we chose|i chose|i choose|i prefer|prefer|"
        r"my choice|the plan is|go with|go for|stick (?:with|to)|switch to|opt for)\b",
        "Decision: tokens expire after an hour.",
    ),
    ("decision", r"^(?:yes|ok(?:ay)?|sure|right|exactly)[,.:!]? +\w+ +\w+", "Yes, use the API."),
    (
        "constraint",
        r"\b(?:must(?:n'?t)?|never|always|do not|don'?t|cannot|can'?t|may not|should(?:n'?t)?|"
        r"shall|has to|have to|needs? to|required?|require[sd]?|not allowed|forbidden|mandatory)\b",
        "The API must stay compatible with version 2.",
    ),
    (
        "constraint",
        r"\b(?:only|at most|at least|no more than|no less than|without|except|unless|make sure|"
        r"ensure|be careful|avoid|keep|remember|important|note that|respect|stay (?:below|within|"
        r"under)|limit(?:ed)? to|under no circumstances|as long as|leave .{1,40} alone|"
        r"backwards?[- ]compatible)\b",
        "Make sure that the tests stay green.",
    ),
    ("decision", r"\buse\b", "Use trio for the server."),
    # Of other languages the plainest words alone.
    (
        "rejected",
        r"\b(?:statt|anstatt|anstelle|au lieu de|plutôt que|en lugar de|en vez de|em vez de)\b"
        r"|而不是|不要用|ではなく|使わないで",
        "Nimm sqlite statt postgres.",
    ),
    (
        "constraint",
        r"\b(?:muss|müssen|darf|dürfen|soll|sollen|niemals|nie|immer|keinesfalls|mindestens|"
        r"höchstens|ne .{1,40} (?:pas|jamais)|doit|doivent|toujours|jamais|debe[ns]?|nunca|siempre|"
        r"jamás|deve[m]?|sempre)\b|必须|不能|不要|不得|禁止|绝不|始终|一定要|しないで|禁止|必ず|"
        r"なければならない|絶対に",
        "Die Tabelle darf niemals geändert werden.",
    ),
    (
        "decision",
        r"\b(?:entschieden|wir nehmen|nous avons décidé|hemos decidido|decidimos)\b|我们决定|"
        r"决定用|に決め",
        "我们决定用第二种方法。",
    ),
)
"""What a sentence must hold, in lower case, and an example. The first row that fits decides."""
# Looked for in lower case: an expression that ignores the case takes twice as long.
_COMPILED = tuple((binding, re.compile(pattern)) for binding, pattern, _ in CUES)
# A sentence ends at a mark before a space, or with its line; a list's mark is none of its words.
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])\s*|\n+")  # noqa: RUF001 - wide marks
_LIST_MARK = re.compile(r"^\s*(?:[-*+•>]|\d{1,3}[.)])\s+")
_CODE_FENCE = "```"


def find_bindings(prompt: str, end: str = "") -> Iterator[tuple[Binding, str]]:
    """Yield each binding sentence of a prompt, verbatim, with what it is. `end` is the end of a
    prompt that is longer than what is read of it."""
    found: dict[str, Binding] = {}
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


def _classify(sentence: str) -> Binding | None:
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
