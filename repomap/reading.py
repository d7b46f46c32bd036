"""Reading of one file for a map: its bytes as UTF-8, or why it is left out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from base.plain_files import read_plain
from kb import as_utf8, is_binary
from kb.detect import detect
from repomap.model import Redact, Symbol
from repomap.words import match_any, split_names

MARK = "<!-- context-mode:pack -->"
RULES_HEAD = f"""\
---
description: Files of this project for the present task
alwaysApply: true
---
{MARK}"""
"""The head of a rules file for Cursor, which begins with frontmatter."""

HEADS = (MARK, RULES_HEAD)
JSON_HEAD = f'{{\n "made_by": "{MARK}"'
"""The beginning of JSON that is indented by one, with the mark as its first value."""


def is_marked(data: bytes) -> bool:
    """Return whether the beginning of a file has the mark of a pack."""
    return data.startswith(_BEGINNINGS)


_BEGINNINGS = tuple(head.encode() for head in (*HEADS, JSON_HEAD))


LINE_BYTES = 16 * 1024
"""Longer lines are generated: a bundle, a table of data."""

HEAD_BYTES = 8 * 1024


def read_text(root: Path, path: str, bytes_max: int) -> tuple[bytes, str | None] | str:
    """Return the text of a file and its language, or the reason why it has none."""
    try:
        data = read_plain(root / path, bytes_max, root)
    except (FileNotFoundError, NotADirectoryError):
        return "vanished"
    except PermissionError:
        return "permission"
    except OSError:
        return "vanished"
    if is_binary(data[:HEAD_BYTES]):
        return "binary"
    if is_marked(data):
        return "pack"
    data, _ = as_utf8(data)
    return _find_fault(data) or (data, detect(data[:HEAD_BYTES], name=path).language)


def _find_fault(data: bytes) -> str:
    """Return why bytes are not text of a program or for a reader; empty if they are."""
    if b"\0" in data:
        return "binary"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "encoding"
    return "generated" if any(len(line) > LINE_BYTES for line in data.split(b"\n")) else ""


@dataclass(slots=True)
class Loader:
    """A reader of files that reads each once."""

    root: Path
    file_bytes: int
    redact: Redact
    warnings: dict[str, tuple[str, ...]] = field(default_factory=dict)  # lines and kinds of secrets
    _texts: dict[str, str | None] = field(default_factory=dict)  # None: deleted, or no longer text

    def load(self, path: str) -> str | None:
        """Return the text of a file with LF line ends."""
        if path not in self._texts:
            self._texts[path] = self._load(path)
        return self._texts[path]

    def forget(self, path: str) -> None:
        """Drop a text that is no longer needed."""
        self._texts.pop(path, None)
        self.warnings.pop(path, None)

    def _load(self, path: str) -> str | None:
        found = read_text(self.root, path, self.file_bytes)
        if isinstance(found, str):
            return None
        text = found[0].decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        clean, secrets = self.redact(text)
        if secrets:
            self.warnings[path] = tuple(
                f"{path}:{line} [secret:{kind}]" for line, kind in sorted(set(secrets))
            )
        return clean


STRETCH_LINES = 60
DEFINITION_LINES = 120
"""Length from which a definition is cut into stretches."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of lines of a file, counted from 1."""

    path: str
    start: int
    end: int  # its last line
    name: str  # names defined in the lines
    text: str


def cut_pieces(path: str, text: str, symbols: Sequence[Symbol]) -> list[Piece]:
    """Cut a text at its innermost definitions, without blank stretches."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    pieces: list[Piece] = []
    at = 1
    for start, end, name in _innermost(symbols, len(lines)):
        if start < at:
            continue
        pieces += _stretches(path, lines, at, start - 1, "")
        pieces += _stretches(path, lines, start, end, name)
        at = end + 1
    pieces += _stretches(path, lines, at, len(lines), "")
    return pieces


def _innermost(symbols: Sequence[Symbol], lines: int) -> Iterable[tuple[int, int, str]]:
    """Yield the definitions that enclose no others."""
    ordered = sorted(symbols, key=lambda one: (one.start_line, -one.end_line))
    for at, one in enumerate(ordered):
        after = ordered[at + 1] if at + 1 < len(ordered) else None
        encloses = after is not None and after.start_line <= one.end_line
        if not encloses or one.start_line == one.end_line:
            yield one.start_line, min(one.end_line, lines), one.full_name


def _stretches(path: str, lines: Sequence[str], start: int, end: int, name: str) -> list[Piece]:
    size = DEFINITION_LINES if name and end - start < DEFINITION_LINES else STRETCH_LINES
    found = []
    for first in range(start, end + 1, size):
        last = min(first + size - 1, end)
        text = "\n".join(lines[first - 1 : last])
        if text.strip():
            found.append(Piece(path, first, last, name, text))
    return found


def rate_pieces(
    pieces: Sequence[Piece], terms: Sequence[str], scores: Mapping[str, float]
) -> list[tuple[float, Piece]]:
    """Return the pieces that have the words, the best first. The rating is the file's score times
    BM25 of the text plus half that of the name, each relative to the best."""
    if not pieces or not terms:
        return []
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(
            "CREATE VIRTUAL TABLE piece USING fts5(body, name,"
            " tokenize='porter unicode61 remove_diacritics 2')"
        )
        rows = ((split_names(one.text), split_names(one.name)) for one in pieces)
        db.executemany("INSERT INTO piece(body, name) VALUES(?,?)", rows)
        rated = [0.0] * len(pieces)
        for column, weights, share in (("body", "1,0", 1.0), ("name", "0,1", 0.5)):
            found = db.execute(
                f"SELECT rowid, -bm25(piece, {weights}) FROM piece"  # noqa: S608 - ours
                " WHERE piece MATCH ?",
                (f"{column} : ({match_any(terms)})",),
            ).fetchall()
            best = max((score for _, score in found), default=0.0)
            for rowid, score in found:
                rated[rowid - 1] += share * score / best if best > 0 else 0.0
    result = [
        (round(scores[one.path] * value, 9), one)
        for one, value in zip(pieces, rated, strict=True)
        if value > 0
    ]
    return sorted(result, key=lambda one: (-one[0], one[1].path, one[1].start))
