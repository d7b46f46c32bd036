"""What a person says of sessions: pause, complete, reopen, pin, forget; and checking the store."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ctxmode import exit_codes
from ctxmode.config.locations import Config, load_config
from ctxmode.errors import UsageError
from ctxmode.launch import ask_person, print_answer, tell
from ctxmode.operations import sessions as operations
from ctxmode.operations.session_everywhere import track_everywhere
from ctxmode.operations.session_export import export_session
from ctxmode.operations.session_facts import erase_facts, list_facts
from ctxmode.operations.session_import import IDS_NAMED, ImportAnswer, import_file
from ctxmode.operations.session_sources import find_oldest, list_sources
from ctxmode.operations.session_stream import import_stream
from ctxmode.operations.session_watch import News, read_poll_s
from ctxmode.render.highlight import inflect, one_line
from memory.sessions import Imported, is_old, keeping
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
    files = ", ".join(answer["files"])
    text = f"{one_line(answer['id'])}: wrote {files} to {one_line(answer['folder'])}"
    if answer["truncated"]:
        text += f"\nOf {inflect(answer['truncated'], 'message')} not all of the text is there."
    print_answer(args, answer, text)
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


def track(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    recording = operations.read_recording(config)
    if not recording.events:
        text = f"Nothing is recorded: {recording.off_by} turns it off."
        print_answer(args, {"off_by": recording.off_by, "transcripts": 0, "messages": 0}, text)
        return exit_codes.OK
    read_new = track_everywhere if args.everywhere else _read_new
    news = News()
    told: tuple[str, ...] = ()
    while True:
        done = read_new(config)
        notices = operations.maintain_stores(config)
        tell(one for one in notices if one not in told)
        told = notices
        if done or not args.watch:
            _tell(args, done, 0 if args.everywhere else _count_old(config))
        if not args.watch:
            return exit_codes.OK
        sys.stdout.flush()
        news.wait(_list_roots(config), read_poll_s(config))


def _read_new(config: Config) -> list[Imported]:
    sources = list_sources(operations.read_recording(config), str(config.home))
    ground, oldest = operations.find_ground(config), find_oldest(config)
    with operations.open_sessions(config, create=True) as store:
        done = store.import_all(sources, ground, since=oldest)
    return [one for one in done if not one.elsewhere]


def _count_old(config: Config) -> int:
    """Count the transcripts that are left unread, since their sessions would go at once."""
    oldest, ground = find_oldest(config), operations.find_ground(config)
    sources = list_sources(operations.read_recording(config), str(config.home))
    return sum(is_old(found, oldest) for importer in sources for found in importer.find(ground))


def _list_roots(config: Config) -> list[str]:
    sources = list_sources(operations.read_recording(config), str(config.home))
    ground = operations.find_ground(config)
    return [root for importer in sources for root in importer.roots(ground)]


def _tell(args: argparse.Namespace, done: list[Imported], old: int) -> None:
    messages = sum(one.messages for one in done)
    bad_lines = sum(one.bad_lines for one in done)
    problems = [one.problem for one in done if one.problem]
    data = {
        "off_by": "",
        "transcripts": len(done),
        "messages": messages,
        "bytes": sum(one.bytes_read for one in done),
        "bad_lines": bad_lines,
        "too_old": old,
        "held": sum(one.is_held for one in done),
        "problems": problems,
    }
    where = " of all projects" if args.everywhere else ""
    text = f"Read {inflect(messages, 'new step')} of {inflect(len(done), 'transcript')}{where}."
    if bad_lines:
        text += f" {inflect(bad_lines, 'line')} could not be read."
    if old:
        text += f" {old} older than transcripts.keep_days are left out."
    print_answer(args, data, "\n".join((text, *map(one_line, problems))))


STATUS_OF = {"pause": "paused", "complete": "completed", "reopen": "active"}


def set_status(args: argparse.Namespace) -> int:
    wanted = STATUS_OF[args.action]
    config = load_config(args.project)
    with (
        operations.open_holding_store(config, args.id, to_write=True) as (store, session),
        store.database.writing() as db,
    ):
        keeping.set_status(db, session.id, wanted)
    print_answer(args, {"id": session.id, "status": wanted}, f"{session.id} is {wanted}.")
    return exit_codes.OK


def pin(args: argparse.Namespace) -> int:
    pinned = args.action == "pin"
    config = load_config(args.project)
    with operations.open_holding_store(config, args.id, to_write=True) as (store, session):
        with store.database.writing() as db:
            keeping.set_pinned(db, session.id, pinned=pinned)
        operations.copy_again(store)
    text = f"{session.id} {'stays for good' if pinned else 'goes in its time'}."
    print_answer(args, {"id": session.id, "pinned": pinned}, text)
    return exit_codes.OK


def forget(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    wanted = [operations.find_holding_store(config, name)[1].id for name in args.ids]
    if not args.yes and not ask_person(f"Forget {', '.join(wanted)} for good?"):
        raise UsageError("nothing was forgotten", "Say --yes to forget without being asked.")
    # The facts first: where they cannot be erased, all can be asked for again.
    erased = erase_facts(config, wanted) if _erases_facts(args, config, wanted) else []
    holders, left_out = operations.find_holders(config, wanted)
    tell(left_out)
    gone: dict[str, None] = {}
    for path, held in holders.items():
        if held:
            with operations.open_to_write(config, path) as store:
                gone |= dict.fromkeys(operations.forget_sessions(config, store, held))
    lines = [f"forgot {name}" for name in gone] + [f"erased {path}" for path in erased]
    data = {"forgotten": list(gone), **({"facts": erased} if erased else {})}
    print_answer(args, data, "\n".join(lines))
    return exit_codes.OK


def _erases_facts(args: argparse.Namespace, config: Config, wanted: list[str]) -> bool:
    """Tell whether the facts that summaries made go, too; a person is asked who did not say so."""
    if args.facts or args.keep_facts:
        return bool(args.facts)
    paths = list_facts(config, wanted)
    if not paths:
        return False
    if args.yes or not sys.stdin.isatty():
        raise UsageError(
            f"nothing was forgotten: {len(paths)} facts in memory are of these sessions",
            "Say --facts to erase them, too, or --keep-facts.",
        )
    return ask_person(f"Erase the {len(paths)} facts that their summaries made, too?")


def check(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    problems, lines = list[str](), list[str]()
    for path in operations.list_stores(config):
        if args.mend:
            operations.mend_store(path)
        with operations.open_to_write(config, path) as store, store.database.exclusively() as db:
            tell(store.notices)
            found = list(keeping.check(db, mend=args.mend))
        problems += found
        lines += found or [f"{path} is sound."]
    ok = not problems
    text = "\n".join(lines) or "No session is kept yet."
    if problems and not args.mend:
        text += "\nTry: context-mode sessions check --mend"
    print_answer(args, {"ok": ok, "mended": args.mend, "problems": problems}, text)
    return exit_codes.OK if ok or args.mend else exit_codes.ERROR
