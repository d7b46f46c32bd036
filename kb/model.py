"""Requests to a store and its answers."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class StoreError(Exception):
    """A store could not carry out a request."""


class StoreUnavailableError(StoreError):
    """The file cannot be opened or made."""


class StoreReadOnlyError(StoreError):
    """The file or its folder may be read but not written; searching still works."""


class StoreFullError(StoreError):
    """The disk or a quota of the file system is full; what was stored before is intact."""


class StoreQuotaError(StoreError):
    """The store's quota has no room for it; what was stored before is intact."""


class StoreBusyError(StoreError):
    """Other processes held the file for longer than the busy timeout."""


class StoreCorruptError(StoreError):
    """The file is damaged: reopening it sets it aside and starts a new one."""


class StoreLateError(StoreError):
    """Reading it took longer than it may."""


class UnknownSourceError(StoreError):
    """No source has this id, or its content was purged."""


_CAUSES: tuple[tuple[int, type[StoreError], str], ...] = (
    (sqlite3.SQLITE_FULL, StoreFullError, "the disk is full: free space, or purge old sources"),
    (sqlite3.SQLITE_IOERR, StoreFullError, "the disk reported an error or is full"),
    (sqlite3.SQLITE_READONLY, StoreReadOnlyError, "it is read-only: make it writable"),
    (sqlite3.SQLITE_PERM, StoreReadOnlyError, "its permissions forbid writing"),
    (sqlite3.SQLITE_BUSY, StoreBusyError, "other processes keep it locked: try again"),
    (sqlite3.SQLITE_LOCKED, StoreBusyError, "it is locked: try again"),
    (sqlite3.SQLITE_CORRUPT, StoreCorruptError, "it is damaged: run `context-mode kept check`"),
    (sqlite3.SQLITE_NOTADB, StoreCorruptError, "it is not an SQLite database"),
    (sqlite3.SQLITE_INTERRUPT, StoreLateError, "reading it takes too long"),
    (
        sqlite3.SQLITE_CANTOPEN,
        StoreUnavailableError,
        "it cannot be opened: check folder and rights",
    ),
)


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors inside into a `StoreError`, naming the file and the remedy.

    Raises:
        StoreError: the subclass that fits SQLite's primary result code.
    """
    try:
        yield
    except zlib.error as error:
        raise StoreCorruptError(f"{path}: damaged text: run `context-mode kept check`") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:
            raise
        for primary, wrapped, advice in _CAUSES:
            if code & 0xFF == primary:
                raise wrapped(f"{path}: {advice} ({error})") from error
        raise


class Origin(StrEnum):
    """Origin of a source."""

    RUN = "run"
    FILE = "file"
    FETCH = "fetch"
    NOTE = "note"
    SESSION = "session"
    MEMORY = "memory"
    PAGE = "page"


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Description of a source, from the caller to the row of the table."""

    label: str
    origin: str = Origin.NOTE
    name: str | None = None  # such as a file name; helps to detect the kind
    kind: str | None = None  # one of `kb.CHUNKERS`; None has it detected
    language: str | None = None
    media_type: str | None = None  # helps to detect the kind
    session: str | None = None
    path: str | None = None
    mtime_ns: int | None = None
    inode: int | None = None
    ttl_s: float | None = None  # how many seconds it stays findable
    pinned: bool = False
    base_url: str | None = None  # what the links of HTML are relative to
    series: str | None = None  # sources of one series are versions of one thing
    met: bool = False  # met in a folder, rather than named by itself
    author: str | None = None  # who said it
    said_at: float | None = None  # in seconds since the epoch; None is now


@dataclass(frozen=True, slots=True)
class StoredContent:
    """The stored form of a source's bytes."""

    kind: str
    language: str | None
    bytes_total: int
    file_size: int | None = None
    sha256: bytes | None = None
    converted: str | None = None  # what was done to them


@dataclass(frozen=True, slots=True)
class Indexed:
    """The result of one addition."""

    source_id: int
    label: str
    version: int
    kind: str
    language: str | None
    chunks: int
    bytes_indexed: int  # less than `bytes_total` while some of it is queued
    bytes_total: int
    complete: bool
    notes: tuple[str, ...] = ()
    converted: str | None = None  # how it was converted before
    redactions: int = 0  # secrets that were taken out


@dataclass(frozen=True, slots=True)
class Source:
    """One version of one label.

    Bytes and lines are those of the stored text; times are in seconds since the epoch.
    """

    id: int
    label: str
    version: int
    kind: str
    language: str | None
    origin: str
    session: str | None
    path: str | None  # the file it was read from
    chunks: int
    bytes_indexed: int
    bytes_total: int
    indexed_at: float
    expires_at: float | None
    pinned: bool
    superseded_by: int | None  # the id of the next version
    converted: str | None = None  # how the text was made, such as `HTML to Markdown`
    redactions: int = 0  # secrets that were taken out

    @property
    def complete(self) -> bool:
        return self.bytes_indexed >= self.bytes_total


class SearchState(StrEnum):
    """The outcome of a query: found something, nothing, or had nothing to search."""

    MATCH = "match"
    NO_MATCH = "no_match"
    NOTHING_INDEXED = "nothing_indexed"


Correction = tuple[str, str]
"""A query word that hardly occurs, and a word that was also looked for."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One chunk that answers a query."""

    chunk_id: int
    source: str
    source_id: int
    title: str
    text: str
    kind: str
    language: str | None
    start_byte: int
    end_byte: int
    start_line: int
    end_line: int
    score: float  # falls with rank, of weak hits by themselves; compares within one result only
    incomplete: bool = False  # its source is not wholly indexed yet
    superseded: bool = False  # a later version of its source exists
    corrections: tuple[Correction, ...] = ()
    weak: bool = False  # few of the query's words are in it
    alike: int = 0  # how many later chunks say the same
    origin: str = ""
    author: str | None = None  # who said it, where that is known
    at: float = 0.0  # when it was said, else when it was stored, in seconds since the epoch
    stale: str = ""  # as of `FileState.find_stale`, if it was checked


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The answer to one query. Weak hits come last."""

    query: str
    state: SearchState
    hits: tuple[Hit, ...] = ()
    corrections: tuple[Correction, ...] = ()
    omitted: int = 0  # how many hits did not fit the byte budget
    incomplete_sources: tuple[int, ...] = ()  # fit the filters, partly queued; the latest first


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """The parts of a hit's score: BM25 of its words, shares for words near each other and for the
    rest of its source. Each rank counts from 1 among the ranked chunks; None if no words are near
    each other."""

    hit: Hit
    words: float
    words_rank: int
    together: float
    together_rank: int | None
    source: float


@dataclass(frozen=True, slots=True)
class QueryExpression:
    """A query as the full-text index received it."""

    table: str
    words: str  # in full-text syntax
    choosing: tuple[str, ...]  # these chose the chunks that all of the words score
    together: str | None


@dataclass(frozen=True, slots=True)
class RankExplanation:
    """The reasons for the ranks of a query's hits."""

    query: str
    words: tuple[str, ...]
    corrections: tuple[Correction, ...]
    filters: tuple[tuple[str, str], ...]  # those in force, by name
    expressions: tuple[QueryExpression, ...]
    ranked: int  # how many chunks there were to choose the hits from
    hits: tuple[ExplainedHit, ...]


@dataclass(frozen=True, slots=True)
class Purged:
    """The sources, chunks, bytes of text that a purge removed, and spool files without an owner."""

    sources: int
    chunks: int
    text_bytes: int
    spools: tuple[Path, ...] = ()
