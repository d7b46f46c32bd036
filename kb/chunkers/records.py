"""Output of tools by records: a table of the lines at which a record begins, and its title.

What failed and what sums up are chunks of their own, so that a search can tell them by their title.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kb.chunks import CAP_BYTES, Mark
from kb.plain import Plain

OWN_MAX = 500
"""How many records of a source, or of a part of one, get chunks of their own, however small. Where
there are more, the others share chunks, as a small chunk costs many times its text."""

_NAME = re.compile(rb"\(\?P<\w+>")
_TITLE_CHARS = 160
_SUMMED = ("many", "total")
"""By these a summary is found, too: questions of how many there are say them, summaries do not."""
_RULES = "=-#+ ✖ℹ"  # noqa: RUF001 - a sign that node prints


@dataclass(frozen=True, slots=True)
class Record:
    """Where a record begins, as a pattern for the start of a line and what follows.

    `title` is made of the pattern's named groups, and `under` is the one that names what it belongs
    to, which alone it shares a chunk with. `about` are patterns whose first groups, found in the
    record, say more. A record `alone` joins no neighbour. One that `ends` with its pattern's last
    line leaves what follows to no record.
    """

    begins: bytes
    title: str
    about: tuple[bytes, ...] = ()
    under: str | None = None
    alone: bool = False
    whole: bool = True
    ends: bool = False


def failure(begins: bytes, title: str, *about: bytes) -> Record:
    """A record of something that failed."""
    return Record(begins, title, about, alone=True)


def summary(*lines: bytes) -> Record:
    """Lines that sum up what was done, whichever of these they look like."""
    return Record(rb"(?P<text>" + b"|".join(lines) + rb")", "{text}", alone=True, ends=True)


class Records:
    """A kind's records, in the order in which their patterns are tried."""

    def __init__(self, rows: Sequence[Record]) -> None:
        self._rows = rows
        numbered = (
            rb"(?P<r%d>%b)" % (at, _NAME.sub(rb"(?:", row.begins)) for at, row in enumerate(rows)
        )
        self._any = re.compile(rb"^(?:" + b"|".join(numbered) + rb")", re.MULTILINE)
        self._own = [re.compile(row.begins, re.MULTILINE) for row in rows]
        self._about = [[re.compile(b, re.MULTILINE) for b in row.about] for row in rows]

    def marks(self, data: bytes, language: str | None = None) -> Iterator[Mark]:
        """A mark where a record begins, and one behind a record that ends."""
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


def _words(raw: bytes) -> str:
    text = " ".join(raw[: 4 * _TITLE_CHARS].decode("utf-8", "replace").split())
    return text if len(text) <= _TITLE_CHARS else text[: _TITLE_CHARS - 1] + "…"
