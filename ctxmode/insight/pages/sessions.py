"""Sessions of agents, and one of them: its timeline, files, tools, compactions and snapshots."""

from __future__ import annotations

import sqlite3
from typing import Any

from ctxmode.insight.charts import build_bars
from ctxmode.insight.model import ROWS, Asked, Data, part
from ctxmode.insight.reading import Reader
from memory.sessions import UnknownSessionError, browsing, count_sessions, find_session

EVENTS = 100
FILES_MAX = 100
TOOLS_MAX = 30
_FIELDS = (
    *("id", "agent", "title", "status", "relation", "parent_id", "agent_version", "git_branch"),
    *("working_directory", "started_at", "last_at", "ended_at", "end_reason", "turns", "messages"),
    *("tool_calls", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
    *("reasoning_tokens", "compactions", "summary", "pinned"),
)


def build_list(reader: Reader, asked: Asked) -> Data:
    """Build the list of sessions."""
    at = asked.number("at")
    rows = reader.sessions(lambda db: browsing.list_rows(db, offset=at, limit=ROWS + 1)) or []
    data = part("/sessions", asked, rows)
    return data | {"total": reader.sessions(count_sessions) or 0}


def build_one(reader: Reader, asked: Asked) -> Data:
    """Build the page of one session; without `session` where there is none."""
    wanted, at = asked.text("id"), asked.number("at")

    def look(db: sqlite3.Connection) -> Data:
        try:
            session = find_session(db, wanted)
        except UnknownSessionError:
            return {}
        shown: dict[str, Any] = {name: getattr(session, name) for name in _FIELDS}
        events = browsing.list_events(db, session.id, offset=at, limit=EVENTS + 1)
        tools = browsing.list_tools(db, session.id, limit=TOOLS_MAX)
        calls = {tool: called for tool, called, _ in tools}
        errors = {tool: failed for tool, _, failed in tools}
        bars = [row | {"errors": errors[row["name"]]} for row in build_bars(calls)]
        files = browsing.list_files(db, session.id, limit=FILES_MAX + 1)
        return {
            "session": shown,
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
