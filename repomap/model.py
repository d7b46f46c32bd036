"""Data types and errors of a map of a repository's files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


class MapError(Exception):
    """Error: a map cannot be made or read; `remedy` says what to do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        """Initialize from the message and the remedy."""
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class MapDamagedError(MapError):
    """Error: the file of a map is damaged, or has another form, so that it cannot be trusted."""


class MapInputError(MapError):
    """Error: a request is invalid."""


LINE_CHARS = 160
"""Longest purpose and signature: about one line of a terminal twice."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition. Lines count from 1."""

    name: str
    kind: str
    parent: str  # the dotted name of the enclosing definitions
    start_line: int
    end_line: int  # its last line
    signature: str  # its first lines, joined to one line

    @property
    def full_name(self) -> str:
        """Return the name with those of the enclosing definitions."""
        return f"{self.parent}.{self.name}" if self.parent else self.name


@dataclass(frozen=True, slots=True)
class Import:
    """An import of a file, as its language spells it.

    Attributes:
        module: Python's `..a.b`, JavaScript's `./a`, Go's path, Rust's `crate::a::b`, Java's
            `a.b.C`, C's `dir/a.h`.
        form: the spelling, if a language has several: C's `quoted` and `angled`, Rust's `mod` and
            `use`, Ruby's `relative`, PHP's `file` and `use`.
        names: the names imported from it.
    """

    module: str
    names: tuple[str, ...] = ()
    form: str = ""


@dataclass(frozen=True, slots=True)
class Structure:
    """The result of parsing one file."""

    symbols: tuple[Symbol, ...] = ()
    references: tuple[tuple[str, int], ...] = ()  # names that it uses, with their counts
    imports: tuple[Import, ...] = ()
    purpose: str = ""
    skeleton: str = ""  # signatures with their first line of documentation, indented as they nest
    note: str = ""  # why parts are missing; empty if nothing is missing


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file of the map: its path, its state when read, and its description."""

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
"""A path that is not in the map or a pack, and the reason: for a map, a key of `REASONS`."""

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "ignored": "git ignores it",
        "excluded": "never part of a map: folders of repositories, installed packages",
        "too_large": "larger than map.file_bytes",
        "too_many": "beyond the limit map.files",
        "binary": "not text",
        "encoding": "neither UTF-8 nor UTF-16, or a name that isn't UTF-8",
        "permission": "not readable",
        "link": "a symbolic link",
        "met": "the same folder, at another path",
        "special": "not a regular file",
        "secret_name": "named like a file of secrets",
        "denied": "a rule denies reading it",
        "pack": "a pack or a map that was written into the project",
        "generated": "a line of it is longer than 16 KiB",
        "vanished": "it was removed or changed while it was read",
        "late": "the scan reached its time limit: the next one continues",
    }
)
"""Reasons for leaving a file out, by the names in `LeftOut`."""


@dataclass(frozen=True, slots=True)
class ScanReport:
    """The outcome of a scan."""

    files: int
    read: int
    removed: int
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]  # missing parts of the map with reasons, for a reader
    head: str
    seconds: float


Kind = Literal["full", "parts", "skeleton", "summary"]
Format = Literal["markdown", "json"]

TITLE = "Files for a task"
BUDGET = 8000
BUDGET_MIN = 300
BUDGET_MAX = 2_000_000


Redaction = tuple[str, Sequence[tuple[int, str]]]
"""A text without its secrets, and the line and kind of each."""

Redact = Callable[[str], Redaction]

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Section:
    """Text about the project before the files of a pack: Markdown for a reader, and the same as
    data."""

    name: str
    title: str
    text: str
    data: object


@dataclass(frozen=True, slots=True)
class PackRequest:
    """A request for a pack. Without a task, the most central files come first."""

    task: str
    count: Count  # estimates tokens
    redact: Redact
    budget: int = BUDGET  # limit of tokens for the whole text
    estimator: str = ""  # model family of the tokens
    format: Format = "markdown"
    paths: tuple[str, ...] = ()  # paths, folders or globs, one of which each file must match
    with_source: bool = True
    with_tests: bool = True
    memory: str = ""  # facts, shown before the files
    mentioned: str = ""
    title: str = TITLE
    sections: tuple[Section, ...] = ()
    mark: str = ""  # first line of a file's text; a file with it may be replaced
    usage: str = ""  # text after `mark`, for readers of the file
    made_at: str = ""  # a time, shown last: the bytes before it are the same at any time


@dataclass(frozen=True, slots=True)
class Item:
    """A file within a pack."""

    path: str
    kind: Kind
    content: str
    score: float
    tokens: int
    reasons: tuple[str, ...] = ()
    lines: tuple[tuple[int, int], ...] = ()  # the ranges in `content`, both ends included
    language: str = ""


NAMED_MAX = 12
"""Left-out files that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack, with all data of its text."""

    asked: PackRequest
    task: str
    items: tuple[Item, ...] = ()
    excluded: tuple[LeftOut, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    used: int = 0  # tokens of `text`
    named: int = NAMED_MAX
    text: str = ""  # empty until it is rendered
