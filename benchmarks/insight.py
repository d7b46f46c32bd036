"""Pages of `context-mode doctor insight` over many sessions; each is built whole, as served."""

from __future__ import annotations

import time
from functools import partial

from benchmarks.harness import Bench, measure
from ctxmode.insight.reading import PageQuery, Reader
from ctxmode.insight.site import BY_PATH, build_page
from memory.sessions.browsing import list_rows
from memory.sessions.reading import count_sessions
from tests.ctxmode.insight.made_project import Amounts, fill, make_place, multiply_sessions


@measure(7, is_long=True, rows="1000000", sources="2000")
async def pages(bench: Bench) -> None:
    """Measure each page: the first of each list, and one deep in it."""
    config = make_place(bench.folder)
    fill(config, Amounts(runs=10_000, sources=int(bench.options["sources"])), now=time.time())
    rows = multiply_sessions(config.sessions_file, int(bench.options["rows"]))
    first = (Reader(config).sessions(lambda db: list_rows(db, offset=0, limit=1)) or [])[0]
    total = Reader(config).sessions(count_sessions) or 0
    asked: dict[str, tuple[str, dict[str, str]]] = {
        path.strip("/") or "overview": (path, {}) for path, page in BY_PATH.items() if not page.menu
    }
    asked |= {
        "session": ("/session", {"id": first["id"]}),
        "fact": ("/fact", {"path": "/memory/decisions/upload"}),
        "page": ("/page", {"path": "uploads"}),
        "source": ("/source", {"id": "1"}),
        "search, with a question": ("/search", {"q": "upload retry"}),
        "sessions, the last": ("/sessions", {"at": str(max(total - 50, 0))}),
        "runs, the last": ("/runs", {"at": "9950"}),
    }
    for name, (path, values) in asked.items():
        side = partial(build_page, config, BY_PATH[path], PageQuery(values))
        await bench.time_sides(name, side, bar="≤ 300 ms", warm_up=0)
    bench.notes.append(f"{rows:,} rows of sessions")
