"""What is known of a repository's files, and what can go wrong with a map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal


class MapError(Exception):
    """A map cannot be made or read; `remedy` says what to do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        """Keep both texts."""
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class MapDamagedError(MapError):
    """The file of a map is damaged, or of another form: what it says cannot be relied on."""


class MapInputError(MapError):
    """What was asked for is not what it must be."""


LINE_CHARS = 160
"""Longest purpose and signature: about one line of a terminal twice."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition. Lines count from 1."""

    name: str
    kind: str
    parent: str  # the dotted name of what encloses it
    start_line: int
    end_line: int  # the last line that belongs to it
    signature: str  # its head in one line

    @property
    def full_name(self) -> str:
        """The name with those that enclose it."""
        return f"{self.parent}.{self.name}" if self.parent else self.name


@dataclass(frozen=True, slots=True)
class Import:
    """What a file asks for, as its language spells it.

    `module` is Python's `..a.b`, JavaScript's `./a`, Go's path, Rust's `crate::a::b`, Java's
    `a.b.C`, C's `dir/a.h`. `form` tells spellings apart where one language has several: C's
    `quoted` and `angled`, Rust's `mod` and `use`, Ruby's `relative`, PHP's `file` and `use`.
    `names` are what is taken from it.
    """

    module: str
    names: tuple[str, ...] = ()
    form: str = ""


@dataclass(frozen=True, slots=True)
class Structure:
    """All that a parser finds in one file."""

    symbols: tuple[Symbol, ...] = ()
    references: tuple[tuple[str, int], ...] = ()  # names that it uses, with how often
    imports: tuple[Import, ...] = ()
    purpose: str = ""
    skeleton: str = ""  # signatures with their first line of documentation, indented as they nest
    note: str = ""  # why it has less than its language allows; empty where nothing is missing


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file of the map: where it is, how it looked when it was read, and what it is."""

    path: str
    id: int
    mtime_ns: int
    size: int
    inode: int
    sha256: bytes
    language: str | None
    lines: int
    purpose: str
    note: str


LeftOut = tuple[str, str]
"""A path that is not in the map or a pack, and why: of the map by a key of
`repomap.walking.REASONS`."""


@dataclass(frozen=True, slots=True)
class ScanReport:
    """The outcome of a scan."""

    files: int
    read: int
    removed: int
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]  # what is missing of the map and why, for a reader
    head: str
    seconds: float


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


NAMED_MAX = 12
"""Files that are named among those left out; the others are counted."""


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack, and all that its text says."""

    asked: PackRequest
    task: str
    items: tuple[Item, ...] = ()
    excluded: tuple[LeftOut, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    used: int = 0  # the tokens of `text`
    named: int = NAMED_MAX
    text: str = ""  # empty until it is rendered
