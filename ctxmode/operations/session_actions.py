"""Actions that show sessions: lists, parts of one session, and texts to resume it."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

from ctxmode.config.locations import Config
from ctxmode.errors import command, describe_empty, describe_making
from ctxmode.hosts.registry import list_clients
from ctxmode.operations import figures
from ctxmode.operations import sessions as stores
from ctxmode.operations.operation import Answer, Arg, Asker, TextFile
from ctxmode.operations.session_answers import (
    awaits_summary,
    parse_summary,
    read_digest,
    read_resume,
    read_texts,
)
from ctxmode.operations.session_facts import keep_summary
from ctxmode.render import highlight
from memory.sessions import (
    RESUME_BYTES,
    Message,
    Session,
    SessionStore,
    Status,
    capture_turns,
    maintenance,
    read_events,
    read_prompts,
    reading,
)

SessionId: TypeAlias = Annotated[str, Arg(metavar="ID")]
Agent: TypeAlias = Annotated[str, Arg("only sessions of agent NAME", "NAME")]
Everywhere: TypeAlias = Annotated[bool, Arg("in all projects")]
WithAll: TypeAlias = Annotated[bool, Arg("not only the latest 20", flags=("--all",))]
LATEST = 20
NOTHING_YET = "The session has no events yet."
NONE_WAITS = "No session awaits a summary."
PARTS = {
    "tools": "tools with number of calls and cost",
    "compactions": "compactions by the host, latest first",
    "errors": "failed calls",
    "turns": "questions, answers and tools: up to 500 turns of 6 KiB",
    "messages": "all messages in order",
    "summary": "the stored summary",
}
RESUME_LINES = {
    "claude_code": ("claude", "--resume"),
    "codex": ("codex", "resume"),
    "gemini": ("gemini", "--resume"),
    "qwen_code": ("qwen", "--resume"),
    "copilot_cli": ("copilot", "--resume"),
    "cursor": ("cursor-agent", "--resume"),
    "opencode": ("opencode", "-s"),
}
"""The command of each host that resumes its own session; the session's ID follows."""


def list_sessions(
    asker: Asker,
    *,
    agent: Agent = "",
    status: Annotated[Status | Literal[""], Arg("only sessions with this status")] = "",
    with_all: WithAll = False,
    everywhere: Everywhere = False,
) -> Answer:
    """List sessions, latest first."""
    limit = None if with_all else LATEST
    found, left_out = stores.list_everywhere(
        asker.config, agent=agent, status=status, limit=limit, everywhere=everywhere
    )
    none = "" if found else _describe_none(asker, agent, status, everywhere=everywhere)
    return _list("sessions", [asdict(one) for one in found], none, left_out)


def _describe_none(asker: Asker, agent: str, status: str, *, everywhere: bool) -> str:
    """Describe an empty list: no sessions, or none of the given agent or status."""
    if not (agent or status):
        return describe_empty("session")
    named = f" of agent {agent!r}" if agent else ""
    named += f" with status {status!r}" if status else ""
    stored, _ = stores.list_everywhere(asker.config, limit=None, everywhere=everywhere)
    agents = sorted({one.agent for one in stored} or {known for known, *_ in list_clients()})
    state = "with sessions" if stored else "that can be read"
    known = f" Agents {state}: {', '.join(agents)}." if agent else ""
    remedy = f"List all: {command('sessions list')}" if stored else describe_making("session")
    return f"No sessions{named} here yet.{known} {remedy}"


def _list(
    kind: str, rows: list[dict[str, Any]], none: str, notices: tuple[str, ...] = ()
) -> Answer:
    """Build an answer with rows of a kind, as a table; `none` is the text if there are none."""
    if not rows:
        return Answer({kind: rows}, none, notices)
    from ctxmode.render import session_tables  # noqa: PLC0415 - JSON needs no tables

    shown = "sessions" if kind == "queue" else kind
    return Answer({kind: rows}, "", notices, partial(session_tables.show_rows, shown, rows))


def show_session(
    asker: Asker,
    session: SessionId,
    *,
    everywhere: Annotated[bool, Arg("find it in all projects")] = False,
    part: Annotated[str, Arg(constants=PARTS)] = "",
) -> Answer:
    """Show one session."""
    parts = {part} if part else {"tools", "compactions"}
    with stores.open_holding_store(asker.config, session, everywhere=everywhere) as (store, found):
        data = {"session": asdict(found), "resume_line": resume_line(found)}
        data |= _read_parts(store, found, set(PARTS) if asker.wants_data else parts)
    from ctxmode.render import session_tables  # noqa: PLC0415 - JSON needs no tables

    return Answer(data, show=partial(session_tables.show_session, data, with_head=not part))


def resume_line(session: Session) -> str:
    """Return the command with which the host resumes its session; empty if unknown."""
    words = RESUME_LINES.get(session.agent)
    if words is None:
        return ""
    folder = shlex.quote(session.working_directory)
    before = f"cd {folder} && " if session.agent == "cursor" else ""
    return f"{before}{shlex.join((*words, session.host_id))}"


def _read_parts(store: SessionStore, session: Session, parts: set[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with store.database.reading() as db:
        if "tools" in parts:
            found["tools"] = reading.read_tool_uses(db, [session.id])
        if "compactions" in parts:
            found["compactions"] = [asdict(one) for one in reading.read_compactions(db, session.id)]
        if "errors" in parts:
            found["errors"] = [
                {"target": event.target, "text": event.text, "state": event.state}
                for event in read_events(db, session.id)
                if event.category == "error"
            ]
        summary = maintenance.read_summary(db, session.id) if "summary" in parts else None
        prompts = read_prompts(db, session.id)
    if "summary" in parts:
        found["memory"] = None if summary is None else asdict(summary)
    messages = read_texts(store, session) if parts & {"turns", "messages"} else []
    if "turns" in parts:
        found["turns"] = capture_turns(messages, prompts)
    if "messages" in parts:
        found["messages"] = [message_json(one) for one in messages]
    return found


def message_json(message: Message) -> dict[str, Any]:
    """Build the JSON of a message; `truncated` means that its text is incomplete."""
    data = asdict(message)
    data["truncated"] = data.pop("is_cut")
    return data


def list_tool_uses(asker: Asker, *, agent: Agent = "", everywhere: Everywhere = False) -> Answer:
    """Show the tools of all sessions, with number of calls and cost."""
    rows, left_out = figures.read_tool_uses(asker.config, agent=agent, everywhere=everywhere)
    return _list("tools", rows, "No tool calls in matching sessions.", left_out)


def list_compactions(
    asker: Asker, *, agent: Agent = "", everywhere: Everywhere = False, with_all: WithAll = False
) -> Answer:
    """Show compactions of sessions, latest first."""
    limit = None if with_all else LATEST
    found, left_out = figures.read_compactions(
        asker.config, agent=agent, limit=limit, everywhere=everywhere
    )
    return _list("compactions", found, "No compactions in matching sessions.", left_out)


def build_snapshot(
    asker: Asker, session: Annotated[str, Arg("session (default: the latest)", "ID")] = ""
) -> Answer:
    """Show the text that an agent gets after a compaction."""
    with stores.open_holding_store(asker.config, session) as (store, found):
        text = store.build_snapshot(found.id)
    return _answer_text(found, text, NOTHING_YET)


def _answer_text(session: Session, text: str, none: str = "", at: int | None = None) -> Answer:
    begins = {} if at is None else {"from": at}
    data = {"id": session.id, **begins, "text": text, "bytes": len(text.encode())}
    return Answer(data, highlight.harmless(text).removesuffix("\n") or none)


def resume_session(
    asker: Asker,
    session: SessionId,
    *,
    budget: Annotated[int, Arg("limit the text to BYTES (default: 8192)", "BYTES", least=512)]
    = RESUME_BYTES,
    first: Annotated[int, Arg("begin at this message (default: the last compaction)", "SEQ",
                              ("--from",), least=1, one_of="begin")] = 0,
    compaction: Annotated[int, Arg("begin at compaction N; 1 is the first", "N",
                                   least=1, one_of="begin")] = 0,
) -> Answer:  # fmt: skip
    """Show the text that another agent needs to continue."""
    with stores.open_holding_store(asker.config, session) as (store, found):
        at, text = read_resume(store, found, first=first, compaction=compaction, bytes_max=budget)
    return _answer_text(found, text, at=at)


def list_queue(asker: Asker) -> Answer:
    """List completed sessions without a summary, latest first."""
    listed = stores.list_sessions(asker.config, status="completed", limit=None)
    rows = [asdict(one) for one in listed if awaits_summary(one)]
    answer = _list("queue", rows, NONE_WAITS)
    names = ("id", "title", "last_at", "messages")
    return answer._replace(data={"queue": [{name: one[name] for name in names} for one in rows]})


def show_digest(asker: Asker, session: SessionId) -> Answer:
    """Show up to 32 KiB of a session, for writing a summary."""
    with stores.open_holding_store(asker.config, session) as (store, found):
        return _answer_text(found, read_digest(store, found))


def summarize_session(
    asker: Asker,
    session: SessionId,
    *,
    file: Annotated[TextFile, Arg(
        "JSON with summary, details, decisions, … or plain text; - is stdin", "FILE", ("--from",)
    )],
) -> Answer:  # fmt: skip
    """Store a summary and archive the session."""
    with stores.open_holding_store(asker.config, session, to_write=True) as (store, found):
        return store_summary(asker.config, store, found, file.text)


def store_summary(config: Config, store: SessionStore, session: Session, text: str) -> Answer:
    """Store a summary of a session and archive the session."""
    notices = keep_summary(config, store, session, parse_summary(text))
    data = {"id": session.id, "status": "archived"}
    return Answer(data, f"Stored the summary of {session.id} and archived it.", notices)
