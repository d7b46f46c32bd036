"""Records as Claude Code writes them, and stores to import them into."""

from __future__ import annotations

import json
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from base.secrets import find_secrets
from ctxmode.hosts.claude_code.transcript import IMPORTER
from ctxmode.operations.session_store import parse_call
from memory.sessions import maintenance
from memory.sessions.importers.importer import Transcript
from memory.sessions.session_news import read_events
from memory.sessions.store import SessionStore

SESSION = "11111111-2222-3333-4444-555555555555"


def moment(number: int) -> str:
    return datetime.fromtimestamp(1_780_000_000 + number, UTC).isoformat().replace("+00:00", "Z")


class Maker:
    """Makes records, each with an id and a time of its own."""

    def __init__(self, session: str = SESSION, prefix: str = "u") -> None:
        self.session, self.prefix, self.number = session, prefix, 0

    def record(self, kind: str, **fields: Any) -> dict[str, Any]:
        self.number += 1
        return {
            "type": kind,
            "uuid": f"{self.prefix}{self.number}",
            "sessionId": self.session,
            "cwd": "/p",
            "gitBranch": "main",
            "version": "2.1.330",
            "isSidechain": False,
            "timestamp": moment(self.number),
            **fields,
        }

    def prompt(self, text: Any, **fields: Any) -> dict[str, Any]:
        return self.record("user", message={"role": "user", "content": text}, **fields)

    def answer(self, *blocks: Any, response: str = "", **fields: Any) -> dict[str, Any]:
        usage = fields.pop("usage", None)
        message = {
            "id": response or f"msg_{self.prefix}{self.number}",
            "role": "assistant",
            "model": "claude-x",
            "content": [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks],
        }
        if usage is not None:
            message["usage"] = usage
        return self.record("assistant", message=message, **fields)

    def call(self, tool: str, number: int | str, given: Any, **fields: Any) -> dict[str, Any]:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": given}
        return self.answer(block, **fields)

    def result(
        self, number: int | str, text: Any = "done", *, failed: bool = False, **fields: Any
    ) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
        return self.prompt([{**block, "is_error": True} if failed else block], **fields)

    def run(
        self, number: int, command: str, text: str = "done", *, failed: bool = False
    ) -> list[dict[str, Any]]:
        call = self.call("Bash", number, {"command": command})
        return [call, self.result(number, text, failed=failed)]

    def compaction(self, summary: str, before: int = 1000, after: int = 100) -> list[dict]:
        figures = {"trigger": "auto", "preTokens": before, "postTokens": after}
        boundary = self.record("system", subtype="compact_boundary", compactMetadata=figures)
        told = self.prompt(summary, isCompactSummary=True, parentUuid=boundary["uuid"])
        return [boundary, told]


def write(path: Path, records: list[Any], mode: str = "w") -> Path:
    with path.open(mode) as file:
        file.writelines(json.dumps(one) + "\n" for one in records)
    return path


def open_store(path: Path, **options: Any) -> SessionStore:
    given = {"find_secrets": find_secrets, "parse_call": parse_call, "home": "/home/u", **options}
    return SessionStore(path, **given)


def bring_in(store: SessionStore, path: Path, session: str = SESSION, **options: Any) -> Any:
    return store.import_transcript(IMPORTER, Transcript(str(path), session), **options)


def events_of(store: SessionStore, session: str = SESSION) -> list[Any]:
    with store.database.reading() as db:
        return read_events(db, f"claude_code:{session}")


def problems_of(store: SessionStore) -> list[str]:
    with store.database.reading() as db:
        return list(maintenance.check(db))


def rows(store: SessionStore, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with store.database.reading() as db:
        return [tuple(row) for row in db.execute(sql, values)]


# What differs between two readings of the same bytes, and says nothing about them.
_OWN = {"created_at", "updated_at", "seen_at", "mtime_ns", "inode", "source_path", "path"}


def dump(store: SessionStore, *, but: tuple[str, ...] = ("source",)) -> dict[str, list[Any]]:
    """All rows by their tables, without what is of one reading alone."""
    found = {}
    with store.database.reading() as db:
        names = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            if name.startswith("sqlite_") or name in but:
                continue
            cursor = db.execute(f"SELECT * FROM {name}")
            columns = [column[0] for column in cursor.description]
            kept = [n for n, column in enumerate(columns) if column not in _OWN]
            cleaned = [tuple(row[n] for n in kept) for row in cursor.fetchall()]
            found[name] = sorted(cleaned, key=repr)
    return found


def all_bytes(store: SessionStore) -> bytes:
    """All that a store has on the disk, with its deflated texts inflated."""
    path = store.database.path
    parts = [one.read_bytes() for one in sorted(path.parent.glob(f"{path.name}*"))]
    with store.database.reading() as db:
        names = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            for row in db.execute(f"SELECT * FROM {name}"):
                parts += [_inflate(one) for one in row if isinstance(one, bytes)]
                # A text that is split over pages stands whole here.
                parts += [one.encode() for one in row if isinstance(one, str)]
    return b"\n".join(parts)


def _inflate(data: bytes) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error:
        return data
