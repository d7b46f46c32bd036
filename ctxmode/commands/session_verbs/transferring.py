"""Sessions out of the store and into it: export as files, import from files and from stdin."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from ctxmode import exit_codes
from ctxmode.config.locations import load_config
from ctxmode.launch import print_answer, tell
from ctxmode.operations import sessions as operations
from ctxmode.operations.session_export import export_session
from ctxmode.operations.session_import import IDS_NAMED, ImportAnswer, import_file
from ctxmode.operations.session_stream import import_stream
from ctxmode.render.amounts import inflect
from ctxmode.render.highlight import one_line
from memory.sessions.importers import find_importer

TEXTS_OFF = (
    "Full texts are not kept, only events and counts: transcripts.messages is off. Turn it on in"
    " your own file before an import to keep them."
)
STORES = {"project": "this project's sessions", "user": "your own sessions, of no project"}


def export(args: argparse.Namespace) -> int:
    answer = export_session(
        load_config(args.project),
        args.id,
        Path.cwd() / args.to,
        markdown=args.markdown,
        everywhere=args.everywhere,
    )
    files = ", ".join(answer.files)
    text = f"{one_line(answer.id)}: wrote {files} to {one_line(answer.folder)}"
    if answer.truncated:
        text += f"\nOf {inflect(answer.truncated, 'message')} not all of the text is there."
    print_answer(args, asdict(answer), text)
    return exit_codes.OK


def import_sessions(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    if args.file == "-":
        answer = import_stream(config, sys.stdin.fileno(), agent=args.agent, session=args.session)
    else:
        name = Path.cwd() / Path(args.file).expanduser()
        answer = import_file(config, name, agent=args.agent, session=args.session)
    tell(operations.maintain_stores(config, is_imported=True))
    print_answer(args, _describe(answer), _say(answer))
    return exit_codes.ERROR if answer.problem else exit_codes.OK


def _describe(answer: ImportAnswer) -> dict[str, object]:
    return {
        "form": answer.form,
        "sessions": answer.sessions,
        "messages": answer.messages,
        "bad_lines": answer.bad_lines,
        "keeps_texts": answer.keeps_texts,
        "problem": answer.problem,
        "stores": [
            {
                "store": one.store,
                "path": one.path,
                "sessions": len(one.session_ids),
                "ids": sorted(one.session_ids)[:IDS_NAMED],
                "messages": one.messages,
                "turns_left": one.turns_left,
            }
            for one in answer.stored
        ],
    }


def _say(answer: ImportAnswer) -> str:
    row = find_importer(answer.form)
    lines = [
        f"Read as {row.title if row else answer.form}:"
        f" {inflect(answer.sessions, 'session')}, {inflect(answer.messages, 'new step')}."
    ]
    for one in answer.stored:
        ids = sorted(one.session_ids)
        named = ", ".join(map(one_line, ids[:3])) + (f" and {len(ids) - 3} more" if ids[3:] else "")
        into = f"Into {STORES[one.store]}: {inflect(len(ids), 'session')}"
        lines.append(f"{into} ({named}), {one_line(one.path)}" if ids else f"{into}.")
        if one.turns_left:
            lines.append("Not all turns can be found by search yet: the next search goes on.")
    if answer.bad_lines:
        lines.append(f"{inflect(answer.bad_lines, 'part')} of it could not be read.")
    if answer.problem:
        lines.append(f"It was not read to its end: {one_line(answer.problem)}.")
    if not answer.sessions:
        lines.append("Nothing is kept of it: its sessions were forgotten before, or it has none.")
    if not answer.keeps_texts:
        lines.append(TEXTS_OFF)
    return "\n".join(lines)
