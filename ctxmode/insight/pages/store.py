"""Data of the pages about sessions, search, and the store with its sources and quota."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict

from ctxmode.errors import UsageError
from ctxmode.insight.reading import ROWS, Data, PageQuery, Reader, build_bars, part, pick
from ctxmode.operations.quotas import read_holdings
from ctxmode.operations.searching import SearchRequest, search
from ctxmode.render.passages import STALE
from kb import Source, Store, UnknownSourceError
from memory.sessions import UnknownSessionError, browsing, count_sessions, find_session

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
