"""Summaries of sessions: which await one, what to make it from, and keeping it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ctxmode import exit_codes
from ctxmode.commands.session_verbs.looking import read_texts
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError, why
from ctxmode.launch import print_answer, print_json
from ctxmode.operations import sessions as operations
from ctxmode.render import highlight
from memory.sessions import event_reading, reading
from memory.sessions.digesting import build_digest
from memory.sessions.keeping import Summary

FILE_BYTES_MAX = 1 << 20
LISTS = ("decisions", "contacts", "learnings", "action_items")


def queue(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    waiting = [
        one
        for one in operations.list_sessions(config, status="completed", limit=None)
        if not one.summary and one.relation != "subagent" and one.messages
    ]
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
    with operations.open_sessions(load_config(args.project)) as store:
        session = operations.find_session(store, args.id)
        with store.database.reading() as db:
            events = event_reading.read_events(db, session.id)
            compactions = reading.read_compactions(db, session.id)
        messages = read_texts(store, session)
    text = build_digest(session, events, compactions, messages)
    data = {"id": session.id, "text": text, "bytes": len(text.encode())}
    print_answer(args, data, highlight.harmless(text).removesuffix("\n"))
    return exit_codes.OK


def summarize(args: argparse.Namespace) -> int:
    summary = parse_summary(_read(args.file))
    with operations.open_sessions(load_config(args.project)) as store:
        session = operations.find_session(store, args.id)
        store.save_summary(session.id, summary)
    data = {"id": session.id, "status": "archived"}
    print_answer(args, data, f"{session.id} is summarised and archived.")
    return exit_codes.OK


def _read(name: str) -> str:
    try:
        if name == "-":
            data = sys.stdin.buffer.read(FILE_BYTES_MAX + 1)
        else:
            with (Path.cwd() / name).open("rb") as file:
                data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"{name}: {why(error)}") from error
    if len(data) > FILE_BYTES_MAX:
        raise UsageError(f"{name} is too large", "A summary takes at most 1 MiB.")
    return data.decode(errors="replace")


def parse_summary(text: str) -> Summary:
    """Read a summary: a JSON object with its fields, or plain text.

    Raises:
        UsageError: it is empty, or a field has another form.
    """
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        given = {"summary": text}
    said = {name: given.get(name, "") for name in ("summary", "details")}
    lists = {name: given.get(name, []) for name in LISTS}
    for name, value in said.items():
        if not isinstance(value, str):
            raise UsageError(f"{name} is no text")
    for name, items in lists.items():
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise UsageError(f"{name} is no list of texts")
    if not said["summary"].strip():
        raise UsageError("there is no summary in it", 'Give text, or {"summary": "…"}.')
    items = {name: tuple(listed) for name, listed in lists.items()}
    return Summary(said["summary"], said["details"], *(items[name] for name in LISTS))
