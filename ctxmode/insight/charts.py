"""Charts as numbers: bars with their lengths, and columns by day, for templates to draw as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
