"""How long each page of `context-mode insight` takes with a million rows of sessions.

    python -m benchmarks.insight [--rows N] [--rounds N]

Each page is built as the server does, whole, opening its files anew. Shown are the median and the
longest, in ms; the bar is 300 ms.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.insight_data import Amounts, fill, make_place, multiply_sessions
from ctxmode.config.locations import Config
from ctxmode.insight.model import Asked
from ctxmode.insight.site import BY_PATH, build_page
from memory.sessions.browsing import list_rows
from memory.sessions.reading import count_sessions

BAR_MS = 300
ROWS = 1_000_000
ROUNDS = 7
FULL = Amounts(runs=10_000, sources=2_000)


def measure(config: Config, rounds: int) -> dict[str, dict[str, float]]:
    """Measure each page; the first of each list, and one deep in it."""
    found = {}
    for name, path, values in _list_pages(config):
        took = []
        for _ in range(rounds):
            began = time.perf_counter()
            build_page(config, BY_PATH[path], Asked(values))
            took.append((time.perf_counter() - began) * 1000)
        found[name] = {
            "median_ms": round(statistics.median(took), 1),
            "most_ms": round(max(took), 1),
        }
    return found


def _list_pages(config: Config) -> list[tuple[str, str, dict[str, str]]]:
    from ctxmode.insight.reading import Reader  # noqa: PLC0415 - beside what it reads

    rows = Reader(config).sessions(lambda db: list_rows(db, offset=0, limit=1)) or []
    total = Reader(config).sessions(count_sessions) or 0
    pages: list[tuple[str, str, dict[str, str]]] = [
        (path.strip("/") or "overview", path, {}) for path, page in BY_PATH.items() if not page.menu
    ]
    return [
        *pages,
        ("session", "/session", {"id": rows[0].id}),
        ("fact", "/fact", {"path": "/memory/decisions/upload"}),
        ("page", "/page", {"path": "uploads"}),
        ("source", "/source", {"id": "1"}),
        ("search, with a question", "/search", {"q": "upload retry"}),
        ("sessions, the last", "/sessions", {"at": str(max(total - 50, 0))}),
        ("runs, the last", "/runs", {"at": "9950"}),
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print the report as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of sessions")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each page is built")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        config = make_place(Path(folder))
        now = time.time()
        fill(config, FULL, now=now)
        rows = multiply_sessions(config.sessions_file, args.rows)
        pages = measure(config, args.rounds)
    report = {"rows": rows, "rounds": args.rounds, "bar_ms": BAR_MS, "pages": pages}
    sys.stdout.write(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
