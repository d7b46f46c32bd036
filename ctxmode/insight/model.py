"""What a page of the site is: a row of the table, what was asked of it, and its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ctxmode.insight.reading import Reader

COLORS = 6
"""How many series have a colour of their own; the style sheet has them."""

WIDTH, HEIGHT = 600, 160
GAP_SHARE = 0.25
OTHERS = "others"


def build_bars(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """Build a row with a bar of 0 to 100 for each count, the largest first."""
    most = max(counts.values(), default=0)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return [{"name": name, "value": value, "length": _share(value, most)} for name, value in rows]


def build_columns(days: Sequence[int], series: Mapping[str, Mapping[int, int]]) -> dict[str, Any]:
    """Build stacked columns: for each day a rectangle of each series, and the table of both. `days`
    are numbers of days since the epoch, in order."""
    names = list(series)
    totals = [sum(series[name].get(day, 0) for name in names) for day in days]
    most = max(totals, default=0)
    step = WIDTH / max(len(days), 1)
    rectangles = []
    for place, day in enumerate(days):
        top = float(HEIGHT)
        for color, name in enumerate(names):
            height = HEIGHT * series[name].get(day, 0) / most if most else 0.0
            top -= height
            rectangles.append(
                {
                    "x": round(place * step + step * GAP_SHARE / 2, 2),
                    "y": round(top, 2),
                    "width": round(step * (1 - GAP_SHARE), 2),
                    "height": round(height, 2),
                    "color": color,
                }
            )
    rows = [{"day": day, "values": [series[name].get(day, 0) for name in names]} for day in days]
    return {
        "names": names,
        "rows": rows,
        "rectangles": [one for one in rectangles if one["height"] > 0],
        "most": most,
        "width": WIDTH,
        "height": HEIGHT,
    }


def take_largest(series: Mapping[str, Mapping[int, int]]) -> dict[str, dict[int, int]]:
    """Keep the largest series, as many as have colours, and add up the others."""
    ranked = sorted(series, key=lambda name: (-sum(series[name].values()), name))
    kept = ranked if len(ranked) <= COLORS else ranked[: COLORS - 1]
    found = {name: dict(series[name]) for name in kept}
    rest: dict[int, int] = {}
    for name in ranked[len(kept) :]:
        for day, value in series[name].items():
            rest[day] = rest.get(day, 0) + value
    return found | ({OTHERS: rest} if rest else {})


def _share(value: int, most: int) -> float:
    return round(max(value, 0) / most * 100, 2) if most > 0 else 0.0


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
