"""Summaries of sessions: which await one, what to make it from, and keeping it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ctxmode import exit_codes
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError, why
from ctxmode.launch import print_answer, print_json, tell
from ctxmode.operations import sessions as operations
from ctxmode.operations.session_answers import (
    SUMMARY_BYTES_MAX,
    awaits_summary,
    parse_summary,
    read_digest,
)
from ctxmode.operations.session_facts import keep_summary
from ctxmode.render import highlight


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
