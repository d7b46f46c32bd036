"""What is asked of a pack, and what it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from repomap.model import LeftOut

Kind = Literal["full", "parts", "skeleton", "summary"]
Format = Literal["markdown", "json"]

TITLE = "Files for a task"
BUDGET = 8000
BUDGET_MIN = 300
BUDGET_MAX = 2_000_000


Redaction = tuple[str, Sequence[tuple[int, str]]]
"""A text without its secrets, and of each its line and kind."""

Redact = Callable[[str], Redaction]

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Section:
    """What a pack says of the project before its files: Markdown for a reader, the same as data."""

    name: str
    title: str
    text: str
    data: object


@dataclass(frozen=True, slots=True)
class PackRequest:
    """What a pack is made for.

    `budget` bounds the whole text, in tokens of the model family `estimator`, which `count`
    estimates. `paths` are paths, folders or globs, one of which a file must match. `memory` are
    facts, which go before the files. Without a task the most central files come first.

    `mark` begins the text of a file, so that it is known later as one that may be replaced; `usage`
    stands behind it, for who opens the file. `made_at` is a time, which goes last: the bytes before
    it are the same at any time.
    """

    task: str
    count: Count
    redact: Redact
    budget: int = BUDGET
    estimator: str = ""
    format: Format = "markdown"
    paths: tuple[str, ...] = ()
    with_source: bool = True
    with_tests: bool = True
    memory: str = ""
    mentioned: str = ""
    title: str = TITLE
    sections: tuple[Section, ...] = ()
    mark: str = ""
    usage: str = ""
    made_at: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """A file within a pack. `lines` are the stretches that `content` has, both ends included."""

    path: str
    kind: Kind
    content: str
    score: float
    tokens: int
    reasons: tuple[str, ...] = ()
    lines: tuple[tuple[int, int], ...] = ()
    language: str = ""


@dataclass(frozen=True, slots=True)
class Pack:
    """A finished pack: `text` is at most `budget` tokens, which `used` counts."""

    text: str
    budget: int
    used: int
    estimator: str
    items: tuple[Item, ...]
    excluded: tuple[LeftOut, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()
