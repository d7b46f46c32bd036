"""A database as OpenCode 1.18.33 makes it, and what it writes there."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from ctxmode.hosts.opencode.transcript import IMPORTER
from memory.sessions.importers.importer import Transcript
from memory.sessions.store import SessionStore

START_MS = 1_780_000_000_000
TABLES = """
CREATE TABLE session (
    id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text,
    slug text NOT NULL, directory text NOT NULL, path text, title text NOT NULL,
    version text NOT NULL, share_url text, summary_additions integer, summary_deletions integer,
    summary_files integer, summary_diffs text, metadata text, cost real DEFAULT 0 NOT NULL,
    tokens_input integer DEFAULT 0 NOT NULL, tokens_output integer DEFAULT 0 NOT NULL,
    tokens_reasoning integer DEFAULT 0 NOT NULL, tokens_cache_read integer DEFAULT 0 NOT NULL,
    tokens_cache_write integer DEFAULT 0 NOT NULL, revert text, permission text, agent text,
    model text, time_created integer NOT NULL, time_updated integer NOT NULL,
    time_compacting integer, time_archived integer
);
CREATE TABLE message (
    id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, data text NOT NULL
);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE TABLE part (
    id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL
);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
"""


class Host:
    """Writes as the host does: each row in a transaction of its own, into the log.

    `moment` is its clock in milliseconds; each row takes a minute."""

    def __init__(self, path: Path) -> None:
        self.path, self.moment, self.number = path, START_MS, 0
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA wal_autocheckpoint = 0")
        self.db.executescript(TABLES)

    @property
    def found(self) -> Transcript:
        return Transcript(str(self.path), log=f"{self.path}-wal")

    def tick(self) -> int:
        self.number += 1
        self.moment += 60_000
        return self.moment

    def session(self, name: str, folder: str = "/p", *, parent: str | None = None) -> str:
        now, id_ = self.tick(), f"ses_{name}"
        self.db.execute(
            "INSERT INTO session (id, project_id, parent_id, slug, directory, title, version,"
            " time_created, time_updated) VALUES (?, 'x', ?, 'slug', ?, ?, '1.18.33', ?, ?)",
            (id_, parent, folder, f"Title of {name}", now, now),
        )
        return id_

    def touch(self, session: str, **columns: Any) -> None:
        self.db.execute("UPDATE session SET time_updated = ? WHERE id = ?", (self.tick(), session))
        for name, value in columns.items():
            self.db.execute(f"UPDATE session SET {name} = ? WHERE id = ?", (value, session))

    def message(self, session: str, data: Any, id_: str = "") -> str:
        now = self.tick()
        id_ = id_ or f"msg_{self.number:06}"
        if isinstance(data, dict):
            data = {"time": {"created": now}, **data}
        text = data if isinstance(data, str | bytes) else json.dumps(data)
        self.db.execute(
            "INSERT INTO message VALUES (?, ?, ?, ?, ?)", (id_, session, now, now, text)
        )
        return id_

    def part(self, session: str, message: str, data: Any, id_: str = "") -> str:
        now = self.tick()
        id_ = id_ or f"prt_{self.number:06}"
        text = data if isinstance(data, str | bytes) else json.dumps(data)
        self.db.execute(
            "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", (id_, message, session, now, now, text)
        )
        return id_

    def update(self, table: str, id_: str, data: Any) -> None:
        self.db.execute(
            f"UPDATE {table} SET data = ?, time_updated = ? WHERE id = ?",
            (json.dumps(data), self.tick(), id_),
        )

    def prompt(self, session: str, text: str, **more: Any) -> str:
        id_ = self.message(session, {"role": "user"})
        self.part(session, id_, {"type": "text", "text": text, **more})
        self.touch(session)
        return id_

    def answer(self, session: str, *parts: Any, tokens: Any = None, **info: Any) -> str:
        data = {"role": "assistant", "modelID": "model-x", "finish": "stop", **info}
        id_ = self.message(session, data)
        for part in parts:
            told = {"type": "text", "text": part} if isinstance(part, str) else part
            self.part(session, id_, told)
        if tokens is not None:
            self.part(session, id_, {"type": "step-finish", "tokens": tokens})
        self.touch(session)
        return id_


def tokens(given: int, said: int, read: int = 0, written: int = 0, thought: int = 0) -> Any:
    cache = {"read": read, "write": written}
    total = given + said + read + written + thought
    return {"total": total, "input": given, "output": said, "reasoning": thought, "cache": cache}


def tool(name: str, given: Any, output: str = "done", call: str = "", **state: Any) -> Any:
    told = {"status": "completed", "input": given, "output": output, "metadata": {}, **state}
    return {"type": "tool", "tool": name, "callID": call or f"call_{output}", "state": told}


def bring_in(store: SessionStore, host: Host, **options: Any) -> Any:
    only = options.pop("only", "")
    found = host.found._replace(session_id=only)
    return store.import_transcript(IMPORTER, found, **options)
