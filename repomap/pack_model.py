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
    """A wish for a pack. Without a task the most central files come first."""

    task: str
    count: Count  # estimates tokens
    redact: Redact
    budget: int = BUDGET  # tokens of the whole text, at most
    estimator: str = ""  # the model family of the tokens
    format: Format = "markdown"
    paths: tuple[str, ...] = ()  # paths, folders or globs, one of which a file must match
    with_source: bool = True
    with_tests: bool = True
    memory: str = ""  # facts, which go before the files
    mentioned: str = ""
    title: str = TITLE
    sections: tuple[Section, ...] = ()
    mark: str = ""  # begins a file's text; such a file may be replaced
    usage: str = ""  # stands behind `mark`, for who opens the file
    made_at: str = ""  # a time, which goes last: the bytes before it are the same at any time


@dataclass(frozen=True, slots=True)
class Item:
    """A file within a pack."""

    path: str
    kind: Kind
    content: str
    score: float
    tokens: int
    reasons: tuple[str, ...] = ()
    lines: tuple[tuple[int, int], ...] = ()  # the stretches that `content` has, both ends included
    language: str = ""


@dataclass(frozen=True, slots=True)
class Pack:
    """A finished pack."""

    text: str
    budget: int  # in tokens, the limit of `used`
    used: int  # the tokens of `text`
    estimator: str
    items: tuple[Item, ...]
    excluded: tuple[LeftOut, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()
