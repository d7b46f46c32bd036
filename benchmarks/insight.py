"""How long each page of `context-mode insight` takes with a million rows of sessions.

Each page is built as the server does, whole, opening its files anew.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.insight_data import Amounts, fill, make_place, multiply_sessions
from benchmarks.report import Report, Row, argument_parser, show, summary
from ctxmode.config.locations import Config
from ctxmode.insight.model import Asked
from ctxmode.insight.reading import Reader
from ctxmode.insight.site import BY_PATH, build_page
from memory.sessions.browsing import list_rows
from memory.sessions.reading import count_sessions

BAR_MS = 300
ROWS = 1_000_000
ROUNDS = 7
FULL = Amounts(runs=10_000, sources=2_000)


def measure(rows: int, rounds: int) -> Report:
    """Measure each page: the first of each list, and one deep in it."""
    report = Report("insight")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        config = make_place(Path(folder))
        fill(config, FULL, now=time.time())
        report.figures["rows"] = multiply_sessions(config.sessions_file, rows)
        for name, path, values in _list_pages(config):
            took = []
            for _ in range(rounds):
                began = time.perf_counter()
                build_page(config, BY_PATH[path], Asked(values))
                took.append(time.perf_counter() - began)
            row = Row(name, summary(took))
            missed += row.ours.median_ms > BAR_MS
            report.add(row)
    report.figures["bars_missed"] = missed
    report.notes = (f"each page is to take at most {BAR_MS} ms, {rounds} times each",)
    return report


def _list_pages(config: Config) -> list[tuple[str, str, dict[str, str]]]:
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
    parser: argparse.ArgumentParser = argument_parser(__name__, __doc__)
    parser.add_argument("--rows", type=int, default=ROWS, metavar="N", help="rows of sessions")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    args = parser.parse_args(argv)
    show(measure(args.rows, args.rounds), as_json=args.json)


if __name__ == "__main__":
    main()
