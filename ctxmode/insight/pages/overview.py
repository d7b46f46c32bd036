"""Data of the overview and of the pages of runs, refusals, sessions, searches and sources."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from typing import Any

from ctxmode.errors import UsageError
from ctxmode.insight.reading import (
    ROWS,
    Data,
    PageQuery,
    Reader,
    build_bars,
    build_columns,
    part,
    pick,
    take_largest,
)
from ctxmode.operations import audit
from ctxmode.operations.figures import (
    ToolFigures,
    compute_cache_share,
    read_tool_figures,
)
from ctxmode.operations.quotas import read_holdings
from ctxmode.operations.searching import SearchRequest, search
from ctxmode.operations.usage import (
    DAY_S,
    ROWS_MAX,
    KeptRefusals,
    count_by_kind,
    count_by_status,
    list_refused,
    list_runs,
)
from ctxmode.render.passages import STALE
from executor import Refusal
from kb import Source, Store, UnknownSourceError
from memory.sessions import (
    TokenCount,
    UnknownSessionError,
    browsing,
    count_sessions,
    find_session,
    sum_tokens_by_day,
)

RUNS_SHOWN = 25
ACTS_SHOWN = 100
ACT = "kind target by certainty count remedy"
ALLOWED = ("allow", "ask, granted")


def build_refusals(reader: Reader, asked: PageQuery) -> Data:
    """Build the list of this project's refused programs, latest first."""
    project, at = str(reader.config.project), asked.number("at")
    entries = reader.ask(lambda: list(audit.read_entries(reader.config.log_dir))) or []
    refused = [one for one in entries if _is_refused(one, project)]
    refused.reverse()
    rules: dict[str, int] = {}
    for one in refused:
        for rule in _list_rules(one):
            rules[rule] = rules.get(rule, 0) + 1
    acts = reader.runs(lambda db: list_refused(db, limit=RUNS_SHOWN)) or []
    return part("/refusals", asked, [_build_row(one) for one in refused[at : at + ROWS + 1]]) | {
        "total": len(refused),
        "rules": build_bars(rules),
        "acts": [_build_act(run, refusal) for run in acts for refusal in run[2]][:ACTS_SHOWN],
        "kinds": build_bars(reader.runs(count_by_kind) or {}),
    }


def _build_act(run: KeptRefusals, refusal: Refusal) -> Data:
    number, row, _ = run
    found = {name: row[name] for name in ("at", "language", "status")}
    return {"run": number} | found | pick(refusal, ACT)


def _is_refused(entry: Mapping[str, Any], project: str) -> bool:
    return entry.get("project") == project and entry.get("decision") not in ALLOWED


def _list_rules(entry: Mapping[str, Any]) -> list[str]:
    rules = entry.get("rules")
    return [str(rule) for rule in rules] if isinstance(rules, list) else []


def _build_row(entry: Mapping[str, Any]) -> Data:
    at = entry.get("time")
    texts = {key: str(entry.get(key, "")) for key in ("surface", "language", "decision", "excerpt")}
    return texts | {
        "at": at if isinstance(at, int | float) else None,
        "rules": ", ".join(_list_rules(entry)),
    }


def build_runs(reader: Reader, asked: PageQuery) -> Data:
    """Build the list of runs, optionally of one status."""
    status, at = asked.text("status"), asked.number("at")
    rows = reader.runs(lambda db: list_runs(db, status=status, offset=at, limit=ROWS + 1)) or []
    counts = reader.runs(count_by_status) or {}
    return part("/runs", asked, [row._asdict() for row in rows]) | {
        "status": status,
        "statuses": build_bars(counts),
        "total": sum(counts.values()),
        "most": ROWS_MAX,
    }


DAYS = 30
UNKNOWN = "unknown model"


def build_overview(reader: Reader, asked: PageQuery) -> Data:
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
        "on_disk": None if holdings is None else asdict(holdings),
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


def _tokens_by_model(tokens: list[TokenCount]) -> dict[str, dict[int, int]]:
    series: dict[str, dict[int, int]] = {}
    for one in tokens:
        known = (one.input, one.output, one.cache_read, one.cache_write)
        day = (date.fromisoformat(one.day) - date(1970, 1, 1)).days
        series.setdefault(one.model or UNKNOWN, {})[day] = sum(n or 0 for n in known)
    return take_largest(series)


EVENTS = 100
FILES_MAX = 100
TOOLS_MAX = 30
SESSION = (
    "id agent title status relation parent_id agent_version git_branch working_directory "
    "started_at last_at ended_at end_reason turns messages tool_calls input_tokens output_tokens "
    "cache_read_tokens cache_write_tokens reasoning_tokens compactions summary pinned"
)


def build_sessions(reader: Reader, asked: PageQuery) -> Data:
    """Build the list of sessions."""
    at = asked.number("at")
    rows = reader.sessions(lambda db: browsing.list_rows(db, offset=at, limit=ROWS + 1)) or []
    data = part("/sessions", asked, rows)
    return data | {"total": reader.sessions(count_sessions) or 0}


def build_session(reader: Reader, asked: PageQuery) -> Data:
    """Build the page of one session, without `session` if it is unknown."""
    wanted, at = asked.text("id"), asked.number("at")

    def look(db: sqlite3.Connection) -> Data:
        try:
            session = find_session(db, wanted)
        except UnknownSessionError:
            return {}
        events = browsing.list_events(db, session.id, offset=at, limit=EVENTS + 1)
        tools = browsing.list_tools(db, session.id, limit=TOOLS_MAX)
        calls = {tool: called for tool, called, _ in tools}
        errors = {tool: failed for tool, _, failed in tools}
        bars = [row | {"errors": errors[row["name"]]} for row in build_bars(calls)]
        files = browsing.list_files(db, session.id, limit=FILES_MAX + 1)
        return {
            "session": pick(session, SESSION),
            "events_total": browsing.count_events(db, session.id),
            "events": part("/session", asked, events, limit=EVENTS),
            "tools": bars,
            "files": files[:FILES_MAX],
            "has_more_files": len(files) > FILES_MAX,
            "compactions": browsing.list_compactions(db, session.id),
            "snapshots": browsing.list_snapshots(db, session.id),
        }

    found = (reader.sessions(look) if wanted else None) or {}
    return {"wanted": wanted} | found


HITS = 10


def build_search(reader: Reader, asked: PageQuery) -> Data:
    """Build the search form, and the hits."""
    query = asked.text("q").strip()
    data: Data = {"query": query, "hits": [], "state": "", "problem": "", "corrections": []}
    if not query:
        return data
    request = SearchRequest((query,), limit=HITS)

    def look(store: Store) -> Data:
        try:
            result = search(store, request).queries[0]
        except UsageError as error:
            return {"problem": str(error)}
        return {
            "state": str(result.state),
            "omitted": result.omitted,
            "corrections": [{"typed": typed, "used": used} for typed, used in result.corrections],
            "hits": [
                pick(hit, "source_id source title text")
                | {
                    "first_line": hit.start_line,
                    "last_line": hit.end_line,
                    "stale": STALE.get(hit.stale, ""),
                }
                for hit in result.hits
            ],
        }

    return data | (reader.store(look) or {"state": "nothing"})


TEXT_BYTES_MAX = 64 * 1024


def build_sources(reader: Reader, asked: PageQuery) -> Data:
    """Build the list of sources, latest first."""
    at = asked.number("at")

    def look(store: Store) -> tuple[int, list[Source]]:
        return store.count_sources(), store.list_sources(at, ROWS + 1)

    total, rows = reader.store(look) or (0, [])
    holdings = reader.ask(lambda: read_holdings(reader.config))
    return part("/store", asked, [asdict(row) for row in rows]) | {
        "total": total,
        "on_disk": None if holdings is None else asdict(holdings),
    }


def build_source(reader: Reader, asked: PageQuery) -> Data:
    """Build the page of one source with the beginning of its text; without `source` if it is
    unknown."""
    number = asked.number("id")

    def look(store: Store) -> Data:
        try:
            source = store.source(number)
        except UnknownSourceError:
            return {}
        text = store.text(number, 0, min(source.bytes_total, TEXT_BYTES_MAX))
        states = store.files_of([number]).values()
        return {
            "stale": "".join(STALE.get(state.find_stale(), "") for state in states),
            "source": asdict(source),
            "text": text.decode("utf-8", "replace"),
            "is_cut": source.bytes_total > TEXT_BYTES_MAX,
            "most": TEXT_BYTES_MAX,
        }

    return {"wanted": number} | (reader.store(look) or {})
