"""What the trial asks of the corpus, and the answers worked out here, outside every sandbox.

Every question needs the whole input. Text is taken as bytes and letters as ASCII, so that all
languages mean the same by a word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from operator import attrgetter

WORD = re.compile(rb"[A-Za-z_]+")
NUMBER = re.compile(rb"[0-9]+")
INPUT_NAME = "corpus.txt"


@dataclass(frozen=True, slots=True)
class Question:
    """`text` is the question as people ask it; `answer` works it out from the whole input."""

    text: str
    answer: Callable[[bytes], int]


def _lines(content: bytes) -> list[bytes]:
    return content.split(b"\n")[:-1]


def _fnv1a(content: bytes) -> int:
    """Compute the 32-bit FNV-1a hash (Fowler, Noll, Vo), which no byte can be left out of."""
    digest = 0x811C9DC5
    for byte in content:
        digest = (digest ^ byte) * 0x01000193 & 0xFFFFFFFF
    return digest


QUESTIONS: dict[str, Question] = {
    "definitions": Question(
        "how many lines define a Python function?",
        lambda content: sum(re.match(rb"[ \t]*def ", line) is not None for line in _lines(content)),
    ),
    "commonest": Question(
        "how often does the commonest word occur?",
        lambda content: Counter(WORD.findall(content)).most_common(1)[0][1],
    ),
    "distinct": Question(
        "how many different words are there?",
        lambda content: len(set(WORD.findall(content))),
    ),
    "words": Question("how many words are there?", lambda content: len(WORD.findall(content))),
    "longest": Question(
        "how many bytes has the longest line?", lambda content: max(map(len, _lines(content)))
    ),
    "wide": Question(
        "how many lines are longer than 79 bytes?",
        lambda content: sum(len(line) > 79 for line in _lines(content)),
    ),
    "numbers": Question(
        "what do the numbers add up to, each modulo 1000?",
        lambda content: sum(int(number[-3:]) for number in NUMBER.findall(content)),
    ),
    "lines": Question("how many lines are there?", lambda content: content.count(b"\n")),
    "digits": Question(
        "how many digits are there?", lambda content: len(re.findall(rb"[0-9]", content))
    ),
    "hash": Question("what is the FNV-1a hash of it all?", _fnv1a),
}


@dataclass(frozen=True, slots=True)
class SampleProgram:
    """One language's program, and the question that it answers about the file in its folder."""

    language: str
    question: str
    code: str


def load_programs() -> tuple[SampleProgram, ...]:
    """The programs of `programs/`, a file each: language, question and suffix are its name."""
    found = []
    for file in resources.files("ctxmode.trial").joinpath("programs").iterdir():
        if file.is_file():
            language, question, _ = file.name.split(".")
            found.append(SampleProgram(language, question, file.read_text("utf-8")))
    return tuple(sorted(found, key=attrgetter("language")))
