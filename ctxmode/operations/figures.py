"""Figures of tools and sessions, each computed only here.

For our tools, measured in bytes:
  kept       produced - returned: what stayed out of the context, and can be searched
  reduction  kept / produced, at least 0; None if nothing was produced
A search returns output that was kept before, so it reduces kept; indexing alone saves nothing.
For sessions: tokens that hosts report; None means not recorded. The two are never mixed.
A total is the sum of its parts.
"""

from __future__ import annotations

import operator
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import reduce
from pathlib import Path
from time import gmtime, strftime
from typing import TYPE_CHECKING, Any, TypeVar

from ctxmode.config.locations import Config, name_projects
from ctxmode.config.transcripts import PRICED, Prices, find_price
from ctxmode.errors import ContextModeError
from ctxmode.operations.quotas import Holdings
from ctxmode.operations.sessions import gather
from ctxmode.operations.usage import Counts, read_rows
from kb.tokens import BYTES_PER_TOKEN
from memory.sessions import (
    STATUSES,
    TOKEN_KINDS,
    Status,
    TokenCount,
    ToolCount,
    reading,
)

if TYPE_CHECKING:
    from executor.instance import PrewarmReport


S = TypeVar("S")
ESTIMATOR = f"UTF-8 bytes / {BYTES_PER_TOKEN}"
FORMULA = "kept = produced - returned, reduction = kept / produced, at least 0"
KINDS = TOKEN_KINDS
USAGE_SUFFIX = ".usage.sqlite3"


@dataclass(frozen=True, slots=True)
class ToolFigures:
    """The counts per tool, per day and per project."""

    tools: Mapping[str, Counts]
    days: Mapping[int, Counts]  # by the start of the day (UTC), in seconds since the epoch
    projects: Mapping[str, Counts] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()  # projects that could not be read, and why

    @property
    def total(self) -> Counts:
        return sum(self.tools.values(), Counts())

    @property
    def tokens_kept(self) -> int:
        return estimate_tokens(self.total.kept)

    def to_json(self, *, with_days: bool = True) -> dict[str, Any]:
        """Build the JSON of `context-mode kept stats` and `ctx_stats`."""
        data: dict[str, Any] = {
            "tools": {tool: counts.to_json() for tool, counts in self.tools.items()},
            "total": self.total.to_json(),
            "tokens_kept": self.tokens_kept,
            "token_estimator": ESTIMATOR,
            "formula": FORMULA,
        }
        if with_days:
            days = ((strftime("%Y-%m-%d", gmtime(at)), one) for at, one in self.days.items())
            data["days"] = {day: one.to_json() for day, one in days}
        if self.projects:
            data["projects"] = {name: one.to_json() for name, one in self.projects.items()}
        return data


def estimate_tokens(count: int) -> int:
    """Estimate the tokens of `count` bytes; negative if `count` is."""
    estimate = -(-abs(count) // BYTES_PER_TOKEN)
    return -estimate if count < 0 else estimate


def read_tool_figures(config: Config, *, everywhere: bool = False) -> ToolFigures:
    """Read the bytes that calls produced and returned, in the project or in all projects. Raise
    ContextModeError if the project's own counts cannot be read."""
    if not everywhere:
        try:
            return sum_rows({"": read_rows(config.usage_file)})
        except sqlite3.Error as error:
            raise ContextModeError(
                f"cannot read {config.usage_file}: {error}",
                "Remove that file to restart the counts.",
            ) from error
    files = sorted(config.usage_file.parent.glob(f"*{USAGE_SUFFIX}"))
    found: dict[Path, list[tuple[int, str, Counts]]] = {}
    left_out = []
    for path in (one for one in files if one.is_file() and not one.is_symlink()):
        try:
            found[path] = read_rows(path)
        except sqlite3.Error as error:
            left_out.append(f"{path}: {error}")
    names = name_projects(found)
    return sum_rows({names[path]: rows for path, rows in found.items()}, left_out)


def sum_rows(
    rows: Mapping[str, Iterable[tuple[int, str, Counts]]], left_out: Sequence[str] = ()
) -> ToolFigures:
    """Add up calls by tool, by day and by named project."""
    tools: dict[str, Counts] = {}
    days: dict[int, Counts] = {}
    projects: dict[str, Counts] = {}
    for project, of_project in rows.items():
        for day, tool, counts in of_project:
            tools[tool] = tools.get(tool, Counts()) + counts
            days[day] = days.get(day, Counts()) + counts
            if project:
                projects[project] = projects.get(project, Counts()) + counts
    return ToolFigures(
        dict(sorted(tools.items())), dict(sorted(days.items())), projects, tuple(left_out)
    )


def build_stats_json(
    tools: ToolFigures,
    holdings: Holdings,
    prewarmed: Iterable[PrewarmReport],
    *,
    with_days: bool = True,
) -> dict[str, Any]:
    """Build the data of `context-mode kept stats` and `ctx_stats`."""
    return tools.to_json(with_days=with_days) | {
        "prewarmed": [asdict(one) for one in prewarmed],
        "on_disk": asdict(holdings),
    }


@dataclass(frozen=True, slots=True)
class TokenSum:
    """Tokens of some responses; a kind is None if no response records it."""

    key: str = ""
    responses: int = 0
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    cost: Decimal | None = None  # of tokens that have a price
    no_price: frozenset[tuple[str, str]] = frozenset()  # models and kinds without a price

    def plus(self, other: TokenSum) -> TokenSum:
        """Return the sum of both, with this one's key."""
        kinds = {kind: add_known(getattr(self, kind), getattr(other, kind)) for kind in KINDS}
        return TokenSum(
            self.key,
            self.responses + other.responses,
            **kinds,
            cost=add_known(self.cost, other.cost),
            no_price=self.no_price | other.no_price,
        )

    def to_json(self) -> dict[str, Any]:
        """Build its data, with the field names of a session."""
        tokens = {f"{kind}_tokens": getattr(self, kind) for kind in KINDS}
        return {"responses": self.responses, **tokens}


def add_known(a: Any, b: Any) -> Any:  # noqa: ANN401 - two of one type of number
    """Add two numbers; one or both may be None (not recorded)."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


@dataclass(frozen=True, slots=True)
class TokenFigures:
    """Token counts that hosts report: by one key, in total, and sessions by status and agent."""

    by: str
    rows: tuple[TokenSum, ...]
    cache_read_share: float | None  # of input from hosts that record cache reads
    statuses: Mapping[str, int]
    agents: Mapping[str, int]
    has_prices: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def total(self) -> TokenSum:
        return reduce(TokenSum.plus, self.rows, TokenSum())

    def to_json(self) -> dict[str, Any]:
        """Build the JSON of `context-mode kept stats --tokens`."""
        data: dict[str, Any] = {
            "by": self.by,
            "rows": [{self.by: row.key or None} | self._build_row(row) for row in self.rows],
            "total": self._build_row(self.total),
            "cache_read_share": self.cache_read_share,
            "sessions": {"by_status": dict(self.statuses), "by_agent": dict(self.agents)},
        }
        if self.has_prices:
            data["no_price"] = [
                {"model": model or None, "kinds": kinds} for model, kinds in list_unpriced(self)
            ]
        return data

    def _build_row(self, row: TokenSum) -> dict[str, Any]:
        cost = {"cost": None if row.cost is None else float(row.cost)} if self.has_prices else {}
        return row.to_json() | cost


def list_unpriced(figures: TokenFigures) -> list[tuple[str, list[str]]]:
    """List models that are missing from the cost, each with the token kinds without a price."""
    kinds: dict[str, list[str]] = {}
    for model, kind in sorted(figures.total.no_price):
        kinds.setdefault(model, []).append(kind)
    return list(kinds.items())


def read_token_figures(
    config: Config, prices: Prices, *, by: str = "model", everywhere: bool = False
) -> TokenFigures:
    """Read the tokens of the project's and the user's own sessions, or of all projects'
    sessions."""

    def look(db: sqlite3.Connection) -> tuple[list[TokenCount], list[tuple[str, str, Status]]]:
        return reading.read_token_counts(db), reading.read_states(db)

    found, left_out = gather(config, look, everywhere=everywhere)
    counts = _once([of_store for of_store, _ in found.values()])
    states = _once([of_store for _, of_store in found.values()], operator.itemgetter(0))
    statuses = Counter(status for _, _, status in states)
    return TokenFigures(
        by,
        sum_tokens(counts, by, prices),
        compute_cache_share(counts),
        {status: statuses[status] for status in STATUSES},
        dict(sorted(Counter(agent for _, agent, _ in states).items())),
        bool(prices),
        left_out,
    )


def sum_tokens(counts: Iterable[TokenCount], by: str, prices: Prices) -> tuple[TokenSum, ...]:
    """Add up tokens by one of `TOKENS_BY`: days in order, other keys by usage."""
    sums: dict[str, TokenSum] = {}
    for count in counts:
        key = count.session_id if by == "session" else str(getattr(count, by))
        sums[key] = sums.get(key, TokenSum(key)).plus(_price(count, prices))
    if by == "day":
        return tuple(sorted(sums.values(), key=lambda row: (row.key == "", row.key)))
    kinds = [kind for kind in KINDS if kind != "reasoning"]  # reasoning is part of output
    rows = sorted(sums.values(), key=lambda row: row.key)
    return tuple(sorted(rows, key=lambda row: -sum(getattr(row, kind) or 0 for kind in kinds)))


def _price(count: TokenCount, prices: Prices) -> TokenSum:
    """Add the cost of one model's tokens; None if any used kind has no price."""
    kinds = {kind: getattr(count, kind) for kind in KINDS}
    used = {kind: kinds[kind] for kind in PRICED if kinds[kind]}
    price = find_price(prices, count.model)
    missing = {kind for kind in used if price is None or kind not in price}
    cost = None
    if price is not None and not missing and any(kinds[kind] is not None for kind in PRICED):
        cost = sum((tokens * price[kind] for kind, tokens in used.items()), Decimal())
        cost /= 1_000_000
    unpriced = frozenset((count.model, kind) for kind in missing if prices)
    return TokenSum(responses=count.responses, **kinds, cost=cost, no_price=unpriced)


def compute_cache_share(counts: Iterable[TokenCount]) -> float | None:
    """Compute the share of input that was read from a cache; None if no host records it."""
    recorded = [one for one in counts if one.cache_read is not None]
    read = sum(one.cache_read or 0 for one in recorded)
    whole = read + sum((one.input or 0) + (one.cache_write or 0) for one in recorded)
    return read / whole if whole else None


def read_tool_uses(
    config: Config, *, agent: str = "", everywhere: bool = False
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Count the calls of each tool in all sessions, or in an agent's; also return stores that could
    not be read, with reasons."""

    def look(db: sqlite3.Connection) -> list[ToolCount]:
        return reading.read_tool_counts(db, agent=agent)

    found, left_out = gather(config, look, everywhere=everywhere)
    return reading.sum_tool_counts(_once(found.values(), operator.itemgetter(0))), left_out


def read_compactions(
    config: Config, *, agent: str = "", limit: int | None = 20, everywhere: bool = False
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Read the compactions of sessions, latest first; also return stores that could not be read,
    with reasons."""

    def look(db: sqlite3.Connection) -> list[dict[str, Any]]:
        return reading.read_all_compactions(db, agent=agent)

    of_stores, left_out = gather(config, look, everywhere=everywhere)
    found = _once(of_stores.values(), operator.itemgetter("session_id"))
    found.sort(key=lambda point: point["at"] or 0.0, reverse=True)
    return found[:limit], left_out


def _once(
    lists: Iterable[Sequence[S]], name: Callable[[S], str] = operator.attrgetter("session_id")
) -> list[S]:
    """Join rows of several stores. A session that two stores have counts for the first."""
    joined: list[S] = []
    seen: set[str] = set()
    for of_store in lists:
        joined += (one for one in of_store if name(one) not in seen)
        seen.update(map(name, of_store))
    return joined
