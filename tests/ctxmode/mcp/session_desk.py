"""A project with sessions, `ctx_session` called as the server calls it, and a transcript."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ctxmode.config.locations import Config
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext
from ctxmode.mcp.tools import load
from ctxmode.operations.library import Library
from ctxmode.operations.session_calls import SessionCalls
from ctxmode.operations.sessions import open_sessions
from memory.sessions.records import CompactionRecord, MessageRecord, Record, SessionRecord

TOOL = load("ctx_session")

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S


@dataclass
class Asker:
    """The client of a call: how it calls itself, and whose token it has."""

    name: str = "claude-code"
    holder: str = ""
    owner: str = ""


class Desk:
    """What a tool sees of an open project, without a sandbox."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.config: Config = library.config
        self.calls = SessionCalls(str(library.config.project))

    async def read(self, look: Any) -> Any:
        return look(self.library)

    async def write(self, change: Any) -> Any:
        return change(self.library)

    async def ask(self, client: str = "claude-code", holder: str = "", **given: Any) -> Reply:
        arguments = TOOL.arguments.validate(given)
        context: Any = CallContext(self, Asker(client, holder))  # type: ignore[arg-type]
        return await TOOL.call(context, arguments)

    def keep(
        self,
        host_id: str,
        *,
        agent: str = "claude_code",
        ago_s: float = 60.0,
        ask: str = "Mend the parser.",
        owner: str = "",
        compacted: str = "",
        ended: bool = False,
        messages: int = 1,
        **fields: Any,
    ) -> str:
        """Keep a session as its importer would; its id."""
        at = time.time() - ago_s
        begin = SessionRecord(
            host_id, title=ask, working_directory=str(self.config.project), **fields
        )
        records: list[Record] = [begin]
        for number in range(messages):
            records += [
                MessageRecord(f"u{number}", f"u{number}", "user", ask, at, is_prompt=True),
                MessageRecord(f"a{number}", f"a{number}", "assistant", f"Answer {number}.", at),
            ]
        if compacted:
            records.append(CompactionRecord("c", at, "auto", compacted, 900, 90))
            records.append(MessageRecord("last", "last", "assistant", "It is mended.", at))
        if ended:
            records.append(begin._replace(ended_at=at + 1, end_reason="exit"))
        with open_sessions(self.config, create=True) as store:
            store.record(agent, records, now=at, owner=owner)
        return f"{agent}:{host_id}"


class Transcript:
    """A transcript of Claude Code's in the project's home."""

    def __init__(self, home: Path, project: Path, session: str) -> None:
        folder = re.sub(r"[^A-Za-z0-9]", "-", str(project))
        self.path = home / ".claude" / "projects" / folder / f"{session}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._project, self._session, self._count = project, session, 0

    def add(self, kind: str, **fields: Any) -> None:
        self._count += 1
        at = time.time() - 60 + self._count / 10
        row = {
            "type": kind,
            "uuid": f"{self._session}-{self._count}",
            "sessionId": self._session,
            "cwd": str(self._project),
            "version": "2.1.330",
            "timestamp": datetime.fromtimestamp(at, UTC).isoformat(),
            **fields,
        }
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def say(self, text: str) -> None:
        self.add("user", message={"role": "user", "content": text})

    def answer(self, text: str) -> None:
        content = [{"type": "text", "text": text}]
        message = {"id": f"m{self._count}", "role": "assistant", "content": content}
        self.add("assistant", message=message)
