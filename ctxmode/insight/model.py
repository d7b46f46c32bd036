"""What a page of the site is: a row of the table, what was asked of it, and its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ctxmode.insight.reading import Reader

ROWS = 50
"""How many rows of a list are on one page."""

NUMBER_MAX = 1_000_000
TEXT_CHARS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Asked:
    """What stands behind the question mark of an address: text from anyone."""

    values: Mapping[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return a value, cut to what any name or question may have; empty where there is none."""
        return self.values.get(name, "")[:TEXT_CHARS_MAX]

    def number(self, name: str) -> int:
        """Return a number from 0 on; 0 where there is none."""
        given = self.text(name)
        return min(int(given), NUMBER_MAX) if given.isascii() and given.isdecimal() else 0


Data = dict[str, Any]
Build = Callable[[Reader, Asked], Data]


class Page(NamedTuple):
    """A row of the table of pages. The template has the page's name; the data is JSON."""

    name: str
    title: str
    build: Build
    menu: str = ""  # the row of the menu that it is of; its own where it is empty
    is_in_file: bool = True  # part of `--html`

    @property
    def path(self) -> str:
        """Return its address below the server's; the overview has the shortest."""
        return "/" if self.name == "overview" else f"/{self.name}"


def part(path: str, asked: Asked, rows: list[Any], *, limit: int = ROWS) -> Data:
    """Build the data of a list that is shown by parts; `rows` may have one more than is shown."""
    at = asked.number("at")
    kept = {name: asked.text(name) for name in asked.values if name != "at"}

    def link(to: int) -> str:
        return f"{path}?{urlencode({**kept, 'at': to})}"

    return {
        "rows": rows[:limit],
        "first": at + 1,
        "last": at + len(rows[:limit]),
        "newer": link(max(at - limit, 0)) if at else "",
        "older": link(at + limit) if len(rows) > limit else "",
    }
