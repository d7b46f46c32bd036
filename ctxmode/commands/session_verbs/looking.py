"""Looking at sessions: list, show, snapshot, resume."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ctxmode import exit_codes
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError, why
from ctxmode.launch import print_answer, print_json, tell
from ctxmode.operations import figures
from ctxmode.operations import sessions as operations
from ctxmode.operations.session_answers import (
    SUMMARY_BYTES_MAX,
    awaits_summary,
    parse_summary,
    read_digest,
    read_resume,
    read_texts,
)
from ctxmode.operations.session_facts import keep_summary
from ctxmode.render import highlight
from memory.sessions import (
    Message,
    Session,
    SessionStore,
    capture_turns,
    keeping,
    read_events,
    read_prompts,
    reading,
)


def queue(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    listed = operations.list_sessions(config, status="completed", limit=None)
    waiting = [one for one in listed if awaits_summary(one)]
    if args.json:
        rows = [{"id": one.id, "title": one.title, "last_at": one.last_at, "messages": one.messages}
                for one in waiting]  # fmt: skip
        print_json({"queue": rows})
    elif waiting:
        from ctxmode.render.session_tables import show_sessions  # noqa: PLC0415 - rich

        show_sessions(waiting)
    else:
        sys.stdout.write("No session awaits a summary.\n")
    return exit_codes.OK


def digest(args: argparse.Namespace) -> int:
    with operations.open_holding_store(load_config(args.project), args.id) as (store, session):
        text = read_digest(store, session)
    data = {"id": session.id, "text": text, "bytes": len(text.encode())}
    print_answer(args, data, highlight.harmless(text).removesuffix("\n"))
    return exit_codes.OK


def summarize(args: argparse.Namespace) -> int:
    summary = parse_summary(_read(args.file))
    config = load_config(args.project)
    with operations.open_holding_store(config, args.id, to_write=True) as (store, session):
        tell(keep_summary(config, store, session, summary))
    data = {"id": session.id, "status": "archived"}
    print_answer(args, data, f"{session.id} is summarised and archived.")
    return exit_codes.OK


def _read(name: str) -> str:
    try:
        if name == "-":
            data = sys.stdin.buffer.read(SUMMARY_BYTES_MAX + 1)
        else:
            with (Path.cwd() / name).open("rb") as file:
                data = file.read(SUMMARY_BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"{name}: {why(error)}") from error
    if len(data) > SUMMARY_BYTES_MAX:
        raise UsageError(f"{name} is too large", "A summary takes at most 1 MiB.")
    return data.decode(errors="replace")


def tools(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    found, left_out = figures.read_tool_uses(config, agent=args.agent, everywhere=args.everywhere)
    tell(left_out)
    if args.json:
        print_json({"tools": found})
    elif not found:
        sys.stdout.write("No tool was called in such a session.\n")
    else:
        from ctxmode.render.session_tables import show_tool_uses  # noqa: PLC0415 - rich

        show_tool_uses(found)
    return exit_codes.OK


def compactions(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    limit = None if args.all else 20
    found, left_out = figures.read_compactions(
        config, agent=args.agent, limit=limit, everywhere=args.everywhere
    )
    tell(left_out)
    if args.json:
        print_json({"compactions": [asdict(one) for one in found]})
    elif not found:
        sys.stdout.write("No such session was compacted.\n")
    else:
        from ctxmode.render.session_tables import show_compactions  # noqa: PLC0415 - rich

        show_compactions(found)
    return exit_codes.OK


PARTS = {
    "tools": "which tools were called, how often, with what cost",
    "compactions": "where the host compacted it, the latest first",
    "errors": "calls that failed",
    "turns": "what was asked and answered, by which tools: 500 turns, each at most 6 KiB",
    "messages": "all messages in order",
    "summary": "what whoever summarised it found",
}
NONE_YET = "No session is kept yet. Read this project's with: context-mode sessions track\n"
RESUME_LINES = {
    "claude_code": ("claude", "--resume"),
    "codex": ("codex", "resume"),
    "gemini": ("gemini", "--resume"),
    "qwen_code": ("qwen", "--resume"),
    "copilot_cli": ("copilot", "--resume"),
    "cursor": ("cursor-agent", "--resume"),
    "opencode": ("opencode", "-s"),
}
"""How each host goes on with a session of its own; the session's id follows."""


def list_sessions(args: argparse.Namespace) -> int:
    found, left_out = operations.list_everywhere(
        load_config(args.project),
        agent=args.agent,
        status=args.status,
        limit=None if args.all else 20,
        everywhere=args.everywhere,
    )
    tell(left_out)
    if args.json:
        print_json({"sessions": [asdict(session) for session in found]})
    elif not found:
        is_chosen = args.agent or args.status
        sys.stdout.write("No session is such.\n" if is_chosen else NONE_YET)
    else:
        from ctxmode.render.session_tables import show_sessions  # noqa: PLC0415 - rich

        show_sessions(found)
    return exit_codes.OK


def show(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    with operations.open_holding_store(config, args.id, everywhere=args.everywhere) as (
        store,
        session,
    ):
        parts = {args.part} if args.part else {"tools", "compactions"}
        data: dict[str, Any] = {"session": asdict(session), "resume_line": resume_line(session)}
        data |= _read_parts(store, session, set(PARTS) if args.json else parts)
    if args.json:
        print_json(data)
    else:
        from ctxmode.render.session_tables import show_session  # noqa: PLC0415 - rich

        show_session(data, with_head=not args.part)
    return exit_codes.OK


def resume_line(session: Session) -> str:
    """Write the command with which the host goes on with its session; empty where none is known."""
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
        summary = keeping.read_summary(db, session.id) if "summary" in parts else None
        prompts = read_prompts(db, session.id)
    if "summary" in parts:
        found["memory"] = None if summary is None else asdict(summary)
    if parts & {"turns", "messages"}:
        messages = read_texts(store, session)
        if "turns" in parts:
            found["turns"] = capture_turns(messages, prompts)
        if "messages" in parts:
            found["messages"] = [message_json(one) for one in messages]
    return found


def message_json(message: Message) -> dict[str, Any]:
    """Build what JSON shows of a message; `truncated` says that its text is not all of it."""
    data = asdict(message)
    data["truncated"] = data.pop("is_cut")
    return data


def snapshot(args: argparse.Namespace) -> int:
    with operations.open_holding_store(load_config(args.project), args.id) as (store, session):
        text = store.build_snapshot(session.id)
    data = {"id": session.id, "text": text, "bytes": len(text.encode())}
    print_answer(args, data, highlight.harmless(text) or "Nothing happened in it yet.")
    return exit_codes.OK


def resume(args: argparse.Namespace) -> int:
    with operations.open_holding_store(load_config(args.project), args.id) as (store, session):
        first, text = read_resume(
            store, session, first=args.first, compaction=args.compaction, bytes_max=args.budget
        )
    data = {"id": session.id, "from": first, "text": text, "bytes": len(text.encode())}
    print_answer(args, data, highlight.harmless(text).removesuffix("\n"))
    return exit_codes.OK
