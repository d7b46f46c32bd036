"""Reading of a project's files for the site: missing files count as empty and are not created.

Unreadable files become lines of `problems`; the rest is shown.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from base.stores import Database, Step
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError
from ctxmode.operations.sessions import list_notices
from ctxmode.operations.usage import STEPS as USAGE_STEPS
from kb import Store, StoreError
from memory.errors import MemoryRoomError
from memory.facts import STEPS as FACT_STEPS
from memory.sessions import STEPS as SESSION_STEPS

if TYPE_CHECKING:
    from memory.pages import Pages

T = TypeVar("T")
READ_S_MAX = 5.0
"""Time limit in seconds for reading the data of a page; the page lists what was not read."""

LOCKED_S_MAX = 1.0
STEPS_AT_ONCE = 10_000  # number of SQLite steps between two checks of the deadline


class Reader:
    """The files of one project, for one page. `problems` lists unreadable files; for these, and for
    missing files, methods return None."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.problems: list[str] = []
        self._deadline = time.monotonic() + READ_S_MAX

    def sessions(self, look: Callable[[sqlite3.Connection], T]) -> T | None:
        """Apply `look` to the project's sessions."""
        told = (one for one in list_notices(self.config) if one not in self.problems)
        self.problems.extend(told)
        return self._look(self.config.sessions_file, SESSION_STEPS, "sessions", look)

    def runs(self, look: Callable[[sqlite3.Connection], T]) -> T | None:
        """Apply `look` to the table of runs. A file with only counts has no such table."""
        path = self.config.usage_file
        if path.exists() and not self._has_runs(path):
            return None
        return self._look(path, USAGE_STEPS, "runs", look)

    def facts(self, scope: str, look: Callable[[sqlite3.Connection], T]) -> T | None:
        """Apply `look` to the facts of the project, or of the user."""
        of_user = scope == "user"
        path = self.config.users_facts_file if of_user else self.config.facts_file
        return self._look(path, FACT_STEPS, "facts", look)

    def store(self, look: Callable[[Store], T]) -> T | None:
        """Apply `look` to the store of outputs, files and web pages."""
        if not self.config.database.exists():
            return None
        with self._noting(self.config.database):
            store = Store.open_to_read(self.config.database, deadline=self._deadline)
            with store:
                return look(store)
        return None

    def pages(self, look: Callable[[Pages], T]) -> T | None:
        """Apply `look` to the project's pages."""
        from ctxmode.operations.pages import open_pages  # noqa: PLC0415 - few pages need git

        with self._noting(), open_pages(self.config, author="insight") as pages:
            return look(pages) if pages.is_ready else None
        return None

    def ask(self, look: Callable[[], T]) -> T | None:
        """Call an operation that opens its files itself."""
        with self._noting():
            return look()
        return None

    def _look(
        self,
        path: Path,
        steps: tuple[Step, ...],
        holds: str,
        look: Callable[[sqlite3.Connection], T],
    ) -> T | None:
        if not path.exists():
            return None
        with (
            self._noting(path),
            closing(
                Database(path, steps, holds=holds, read_only=True, wait_s=LOCKED_S_MAX)
            ) as database,
            database.reading() as db,
        ):
            db.set_progress_handler(lambda: time.monotonic() >= self._deadline, STEPS_AT_ONCE)
            return look(db)
        return None

    def _has_runs(self, path: Path) -> bool:
        from base.stores import connect_read_only  # noqa: PLC0415 - only here

        with self._noting(path), closing(connect_read_only(path, wait_s=LOCKED_S_MAX)) as db:
            named = "SELECT 1 FROM sqlite_master WHERE name = 'run'"
            return db.execute(named).fetchone() is not None
        return False

    @contextmanager
    def _noting(self, path: Path | None = None) -> Iterator[None]:
        """Add an error in the block to `problems`, and continue after the block."""
        known = (ContextModeError, MemoryRoomError, StoreError, sqlite3.Error)
        try:
            yield
        except (*known, OSError, ValueError, zlib.error) as error:
            why = str(error).partition("\n")[0]
            late = time.monotonic() >= self._deadline
            said = f"not read within {READ_S_MAX:.0f} s" if late else why
            self.problems.append(said if path is None or str(path) in said else f"{path}: {said}")


COLORS = 6  # number of colours for series in the style sheet
WIDTH, HEIGHT = 600, 160
GAP_SHARE = 0.25
OTHERS = "others"


def build_bars(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """Build a row with a bar of 0 to 100 for each count, largest first."""
    most = max(counts.values(), default=0)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return [{"name": name, "value": value, "length": _share(value, most)} for name, value in rows]


def build_columns(days: Sequence[int], series: Mapping[str, Mapping[int, int]]) -> dict[str, Any]:
    """Build stacked columns: a rectangle for each day and series, and their table. `days` are days
    since the epoch, in order."""
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
    """Keep the largest series, up to the number of colours, and add up the others."""
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


ROWS = 50  # number of rows of a list on one page
NUMBER_MAX = 1_000_000
TEXT_CHARS_MAX = 1_000


class PageQuery(dict[str, str]):
    """The query of a URL: untrusted text."""

    def text(self, name: str) -> str:
        """Return a value, cut to TEXT_CHARS_MAX; empty if it is missing."""
        return self.get(name, "")[:TEXT_CHARS_MAX]

    def number(self, name: str) -> int:
        """Return a number from 0 to NUMBER_MAX; 0 if it is missing or invalid."""
        given = self.text(name)
        return min(int(given), NUMBER_MAX) if given.isascii() and given.isdecimal() else 0


Data = dict[str, Any]
Build = Callable[[Reader, PageQuery], Data]


class Page(NamedTuple):
    """A row of the table of pages. The template has the page's name; the data is JSON."""

    name: str
    title: str
    build: Build
    menu: str = ""  # the menu entry that it belongs to; empty means its own
    is_in_file: bool = True  # part of `--html`

    @property
    def path(self) -> str:
        """Return its path on the server."""
        return "/" if self.name == "overview" else f"/{self.name}"


def pick(one: object, names: str) -> Data:
    """Build the data of some fields of a record; `names` separates them by spaces."""
    return {name: getattr(one, name) for name in names.split()}


def part(path: str, asked: PageQuery, rows: list[Any], *, limit: int = ROWS) -> Data:
    """Build the data of one part of a list; `rows` has one more row if there are more parts."""
    at = asked.number("at")
    kept = {name: asked.text(name) for name in asked if name != "at"}

    def link(to: int) -> str:
        return f"{path}?{urlencode({**kept, 'at': to})}"

    return {
        "rows": rows[:limit],
        "first": at + 1,
        "last": at + len(rows[:limit]),
        "newer": link(max(at - limit, 0)) if at else "",
        "older": link(at + limit) if len(rows) > limit else "",
    }
