"""Patterns for where records of tools' outputs begin: test runners, compilers, stacks, traces.

The rows are in `record_rows.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb.decoding import Plain
from kb.packing import CAP_BYTES, Mark

OWN_MAX = 500  # a failure or a summary is a chunk, which a search shows by its title
"""The limit on records of a source, or of a part of one, with their own chunk, however small. If
there are more, the others share chunks, as a small chunk costs many times its text."""

_NAME = re.compile(r"\(\?P<\w+>")
_TITLE_CHARS = 160
_SUMMED = ("many", "total")
"""Words that find a summary, too: questions about numbers use them, summaries do not."""
_RULES = "=-#+ ✖ℹ"  # noqa: RUF001 - a sign that node prints


@dataclass(frozen=True, slots=True)
class Record:
    """A record: a pattern for the start of a line, and what follows."""

    begins: str
    title: str  # made of the pattern's named groups
    about: Sequence[str] = ()  # patterns whose first groups, found in the record, say more
    under: str | None = None  # names its parent; it shares a chunk only with that
    alone: bool = False  # it joins no neighbour
    whole: bool = True
    ends: bool = False  # the text after the pattern's last line belongs to no record


class Records:
    """A kind's records, in the order in which their patterns are tried."""

    def __init__(self, rows: Sequence[Record]) -> None:
        self._rows = rows
        numbered = (f"(?P<r{at}>{_NAME.sub('(?:', row.begins)})" for at, row in enumerate(rows))
        self._any = _compile(f"^(?:{'|'.join(numbered)})")
        self._own = [_compile(row.begins) for row in rows]
        self._about = [list(map(_compile, row.about)) for row in rows]

    def marks(self, data: bytes, language: str | None = None) -> Iterator[Mark]:
        """Yield a mark where a record begins, and one after a record that ends."""
        plain = Plain(data)
        own = 0
        found = self._any.search(plain.text)
        while found is not None:
            following = self._any.search(plain.text, max(found.end(), found.start() + 1))
            at = int((found.lastgroup or "r0")[1:])
            row = self._rows[at]
            own += row.alone or row.under is not None
            end = len(plain.text) if following is None else following.start()
            yield Mark(
                plain.place(found.start()),
                self._title(at, plain.text[found.start() : end], nested=own <= OWN_MAX),
                whole=row.whole,
                identifiers=_SUMMED if row.ends else (),
                alone=row.alone and own <= OWN_MAX,
            )
            if row.ends:
                line_end = plain.text.find(b"\n", max(found.end() - 1, found.start())) + 1
                if 0 < line_end < end:
                    yield Mark(plain.place(line_end))
            found = following

    def _title(self, at: int, text: bytes, *, nested: bool) -> tuple[str, ...]:
        row, own = self._rows[at], self._own[at].match(text)
        assert own is not None
        words = {name: _words(value or b"") for name, value in own.groupdict().items()}
        title = _words(row.title.format(**words).encode())
        for about in self._about[at]:
            if found := about.search(text, 0, CAP_BYTES):
                title = f"{title}: {_words(found[1])}"
        if row.ends:
            return "summary", title.strip(_RULES)
        return (words[row.under], title) if row.under and nested else (title,)


def _compile(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode(), re.MULTILINE)


def _words(raw: bytes) -> str:
    text = " ".join(raw[: 4 * _TITLE_CHARS].decode("utf-8", "replace").split())
    return text if len(text) <= _TITLE_CHARS else text[: _TITLE_CHARS - 1] + "…"


def _load_rows() -> dict[str, Records]:
    tables: dict[str, list[dict[str, Any]]] = tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    )
    return {kind: Records(list(map(_record, rows))) for kind, rows in tables.items()}


def _record(row: dict[str, Any]) -> Record:
    """Build the record of a row; one of a `summary` sums up, whatever its lines look like."""
    if lines := row.get("summary"):
        return Record(f"(?P<text>{'|'.join(lines)})", "{text}", alone=True, ends=True)
    return Record(**row)


RECORDS = _load_rows()
"""The records of each kind, by the kind's name."""
