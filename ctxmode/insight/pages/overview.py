"""The overview: what was kept out of the context, how runs ended, tokens by day, what is there."""

from __future__ import annotations

import time

from ctxmode.insight.charts import build_bars, build_columns, take_largest
from ctxmode.insight.model import Asked, Data
from ctxmode.insight.reading import Reader
from ctxmode.operations.figures import (
    ToolFigures,
    compute_cache_share,
    read_tool_figures,
)
from ctxmode.operations.quotas import read_holdings
from ctxmode.operations.run_records import count_by_status
from ctxmode.operations.usage import DAY_S
from memory.sessions import DayTokens, count_sessions, sum_tokens_by_day

DAYS = 30
UNKNOWN = "unknown model"


def build(reader: Reader, asked: Asked) -> Data:
    """Build the overview."""
    today = int(time.time() // DAY_S)
    days = range(today - DAYS + 1, today + 1)
    tools = reader.ask(lambda: read_tool_figures(reader.config)) or ToolFigures({}, {})
    holdings = reader.ask(lambda: read_holdings(reader.config))
    tokens = reader.sessions(lambda db: sum_tokens_by_day(db, since=days[0] * DAY_S)) or []
    runs = reader.runs(count_by_status) or {}
    return {
        "days": DAYS,
        "total": tools.total.to_json(),
        "tokens_kept": tools.tokens_kept,
        "runs_total": sum(runs.values()),
        "sessions": reader.sessions(count_sessions) or 0,
        "on_disk": None if holdings is None else holdings.to_json(),
        "cache_share": compute_cache_share(tokens),
        "kept": _kept_by_day(tools, days),
        "tools": build_bars({name: one.kept for name, one in tools.tools.items()}),
        "runs": build_bars(runs),
        "tokens": build_columns(list(days), _tokens_by_model(tokens)),
    }


def _kept_by_day(tools: ToolFigures, days: range) -> Data:
    counts = {day // DAY_S: one for day, one in tools.days.items()}
    kept = {day: max(counts[day].kept, 0) for day in days if day in counts}
    returned = {day: counts[day].returned for day in days if day in counts}
    return build_columns(list(days), {"kept": kept, "returned": returned})


def _tokens_by_model(tokens: list[DayTokens]) -> dict[str, dict[int, int]]:
    series: dict[str, dict[int, int]] = {}
    for one in tokens:
        known = (one.input, one.output, one.cache_read, one.cache_write)
        series.setdefault(one.model or UNKNOWN, {})[one.day] = sum(n or 0 for n in known)
    return take_largest(series)
