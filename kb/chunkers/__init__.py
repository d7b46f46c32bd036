"""Table of chunkers: one row a kind, with what it supports for sources in parts.

To add a kind: a module here with a `marks(data, language)` function, a row in `_ROWS`, and a row in
`kb.detect` or a name in `kb.filetypes` to recognise it. Record output of tools only needs rows in
`record_rows.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from kb.chunkers import code, json, log, markup, notebook, outline, table
from kb.chunkers.record_rows import RECORDS
from kb.packing import Mark, no_marks
from kb.parsing import is_parsed

Marks = Callable[[bytes, str | None], Iterable[Mark]]


class Scan(Protocol):
    """Reads a source, or a part of one, from where the part before it ended."""

    def marks(self) -> Iterator[Mark]: ...

    def state(self) -> str:
        """Return what the next part needs to know, once the marks are exhausted."""
        ...


Resume = Callable[[bytes, str | None], Scan]


@dataclass(frozen=True, slots=True)
class Chunker:
    """The way sources of one kind are cut, at `marks`."""

    kind: str
    marks: Marks
    later_marks: Marks | None = None
    """For later parts, if `marks` would restart record numbers or expect a header."""
    resume: Resume | None = None
    """Makes a scan that continues in a later part where the part before it ended."""
    resumes_first: bool = True
    """True if the first part is scanned this way, too."""
    carries_title: bool = False
    """True if a section continues in a later part, under its title."""
    needs_worker: Callable[[bytes, str | None], bool] | None = None
    """Returns whether a source needs a parser, which is not trusted to end."""

    def marks_at(self, base_byte: int) -> Marks:
        """Return the function for the part that begins there."""
        return self.later_marks if base_byte > 0 and self.later_marks else self.marks


def _scan_lines(data: bytes, state: str | None) -> json.Scan:
    return json.Scan(data, lines=True, state=state)


def _scan(data: bytes, state: str | None) -> json.Scan:
    return json.Scan(data, state=state)


def _scan_rows(data: bytes, state: str | None) -> table.Scan:
    return table.Scan(data, separated=True, state=state)


def _scan_columns(data: bytes, state: str | None) -> table.Scan:
    return table.Scan(data, separated=False, state=state)


_ROWS = (
    Chunker("asciidoc", markup.asciidoc_marks, carries_title=True),
    Chunker("code", code.code_marks, needs_worker=is_parsed),
    Chunker("columns", table.column_marks, later_marks=no_marks, resume=_scan_columns),
    Chunker("commits", code.diff_marks, carries_title=True),
    Chunker("compiler", RECORDS["compiler"].marks, carries_title=True),
    Chunker("csv", table.marks, later_marks=no_marks, resume=_scan_rows),
    Chunker("diff", code.diff_marks, carries_title=True),
    Chunker("html", markup.html_marks, carries_title=True),
    Chunker("json", json.marks, resume=_scan),
    Chunker("jsonl", json.line_marks, later_marks=json.marks, resume=_scan_lines),
    Chunker("log", log.marks),
    Chunker("markdown", markup.markdown_marks, carries_title=True),
    Chunker("notebook", notebook.marks, later_marks=json.marks, resume=_scan, resumes_first=False),
    Chunker("packages", RECORDS["packages"].marks, carries_title=True),
    Chunker("plan", RECORDS["plan"].marks, carries_title=True),
    Chunker("rst", markup.rst_marks, carries_title=True),
    Chunker("stacks", RECORDS["stacks"].marks, carries_title=True),
    Chunker("tests", RECORDS["tests"].marks, carries_title=True),
    Chunker("text", no_marks),
    Chunker("toml", outline.toml_marks, carries_title=True),
    Chunker("trace", RECORDS["trace"].marks, carries_title=True),
    Chunker("xml", outline.xml_marks, carries_title=True),
    Chunker("yaml", outline.yaml_marks, carries_title=True),
)
CHUNKERS = {row.kind: row for row in _ROWS}


def chunker_of(kind: str) -> Chunker:
    """Find the row of a kind.

    Raises:
        ValueError: the kind is unknown.
    """
    try:
        return CHUNKERS[kind]
    except KeyError:
        known = ", ".join(sorted(CHUNKERS))
        raise ValueError(f"unknown kind {kind!r}: choose from {known}") from None
