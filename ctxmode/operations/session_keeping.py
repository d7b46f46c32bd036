"""Actions that change sessions: export, import, track, pause, pin, forget, check."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from base.wording import inflect
from ctxmode.config.file_names import find_project
from ctxmode.config.locations import Config
from ctxmode.errors import UsageError, describe_empty
from ctxmode.hosts.registry import find_importer
from ctxmode.launch import ask_person
from ctxmode.operations import sessions as stores
from ctxmode.operations.operation import Answer, Arg, Asker
from ctxmode.operations.session_actions import SessionId
from ctxmode.operations.session_export import export_session as write_session
from ctxmode.operations.session_facts import erase_facts, list_facts
from ctxmode.operations.session_import import IDS_NAMED, ImportAnswer, import_file
from ctxmode.operations.session_sources import find_oldest, list_sources
from ctxmode.operations.session_stream import import_stream
from ctxmode.operations.session_tracking import maintain
from ctxmode.operations.session_watch import News, read_poll_s
from ctxmode.render.highlight import one_line
from memory.sessions import Imported, Status, is_old, maintenance, needs_reading, read_folder
from memory.sessions.importers import Ground, Importer, Transcript

TEXTS_OFF = (
    "Stored only events and counts, no full texts: transcripts.messages is off. To store texts,"
    " turn it on in your own config.toml before an import."
)
STORES = {"project": "this project's sessions", "user": "your own sessions, without a project"}


def export_session(
    asker: Asker,
    session: SessionId,
    *,
    to: Annotated[str, Arg("write to DIR/sessions/ID/ (default: the working folder)", "DIR")] = "",
    markdown: Annotated[bool, Arg("also write transcript.md")] = False,
    everywhere: Annotated[bool, Arg("find it in all projects")] = False,
) -> Answer:
    """Write a session's messages.json and summary.md."""
    done = write_session(
        asker.config, session, Path.cwd() / to, markdown=markdown, everywhere=everywhere
    )
    files = ", ".join(done["files"])
    text = f"{one_line(done['id'])}: wrote {files} to {one_line(done['folder'])}"
    if done["truncated"]:
        text += f"\n{inflect(done['truncated'], 'message')} with incomplete text."
    return Answer(done, text)


def import_sessions(
    asker: Asker,
    file: Annotated[str, Arg("- is stdin: lines are stored as they arrive", "FILE")],
    *,
    agent: Annotated[str, Arg("host of the transcript; or author in our own format", "NAME")] = "",
    session: Annotated[str, Arg("session of messages without one", "ID")] = "",
) -> Answer:
    """Import sessions from a file."""
    if file == "-":
        done = import_stream(asker.config, sys.stdin.fileno(), agent=agent, session=session)
    else:
        path = Path.cwd() / Path(file).expanduser()
        done = import_file(asker.config, path, agent=agent, session=session)
    notices = stores.maintain_stores(asker.config, is_imported=True)
    return Answer(_describe(done), _say(done), notices, is_failure=bool(done.problem))


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
            lines.append("Not all turns are indexed yet; the next search continues.")
    if answer.bad_lines:
        lines.append(f"{inflect(answer.bad_lines, 'part')} of it could not be read.")
    if answer.problem:
        lines.append(f"It was not fully read: {one_line(answer.problem)}.")
    if not answer.sessions:
        lines.append("Nothing was stored: its sessions were forgotten before, or it has none.")
    if not answer.keeps_texts:
        lines.append(TEXTS_OFF)
    return "\n".join(lines)


def track_sessions(
    asker: Asker,
    *,
    watch: Annotated[bool, Arg("keep running until interrupted")] = False,
    everywhere: Annotated[
        bool, Arg("read transcripts in all projects, each into its store")
    ] = False,
) -> Iterator[Answer]:
    """Read new lines of transcripts."""
    config = asker.config
    recording = stores.read_recording(config)
    if not recording.events:
        text = f"Nothing is recorded: {recording.off_by} turns it off."
        yield Answer({"off_by": recording.off_by, "transcripts": 0, "messages": 0}, text)
        return
    read_new = track_everywhere if everywhere else _read_new
    news = News()
    told: tuple[str, ...] = ()
    while True:
        done = read_new(config)
        notices = stores.maintain_stores(config)
        if done or not watch:
            old = 0 if everywhere else _count_old(config)
            answer = _describe_read(done, old, " in all projects" * everywhere)
            yield answer._replace(notices=[one for one in notices if one not in told])
            told = notices
        if not watch:
            return
        ground = stores.find_ground(config)
        roots = [root for importer in _list_sources(config) for root in importer.roots(ground)]
        news.wait(roots, read_poll_s(config))


def _read_new(config: Config) -> list[Imported]:
    with stores.open_sessions(config, create=True) as store:
        ground, oldest = stores.find_ground(config), find_oldest(config)
        done = store.import_all(_list_sources(config), ground, since=oldest)
    return [one for one in done if not one.elsewhere]


def _list_sources(config: Config) -> Iterator[Importer]:
    return list_sources(stores.read_recording(config), str(config.home))


def _count_old(config: Config) -> int:
    """Count the transcripts that are not read because their sessions are too old to keep."""
    oldest, ground = find_oldest(config), stores.find_ground(config)
    return sum(is_old(one, oldest) for each in _list_sources(config) for one in each.find(ground))


def _describe_read(done: list[Imported], old: int, where: str) -> Answer:
    bad_lines = sum(one.bad_lines for one in done)
    problems = [one.problem for one in done if one.problem]
    messages = sum(one.messages for one in done)
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
    steps, transcripts = inflect(messages, "new step"), inflect(len(done), "transcript")
    text = f"Read {steps} from {transcripts}{where}."
    if bad_lines:
        text += f" {inflect(bad_lines, 'line')} could not be read."
    if old:
        text += f" Skipped {old} older than transcripts.keep_days."
    return Answer(data, "\n".join((text, *map(one_line, problems))))


def _set_status(asker: Asker, session: SessionId, *, status: Status) -> Answer:
    with (
        stores.open_holding_store(asker.config, session, to_write=True) as (store, found),
        store.database.writing() as db,
    ):
        maintenance.set_status(db, found.id, status)
    return Answer({"id": found.id, "status": status}, f"{found.id} is {status}.")


def pause_session(asker: Asker, session: SessionId) -> Answer:
    """Set the status of a session to paused."""
    return _set_status(asker, session, status="paused")


def complete_session(asker: Asker, session: SessionId) -> Answer:
    """Set the status of a session to completed."""
    return _set_status(asker, session, status="completed")


def reopen_session(asker: Asker, session: SessionId) -> Answer:
    """Set the status of a session to active."""
    return _set_status(asker, session, status="active")


def pin_session(asker: Asker, session: SessionId) -> Answer:
    """Keep a session permanently."""
    return _set_pinned(asker, session, pinned=True)


def unpin_session(asker: Asker, session: SessionId) -> Answer:
    """Unpin a session, so that it expires."""
    return _set_pinned(asker, session, pinned=False)


def _set_pinned(asker: Asker, session: str, *, pinned: bool) -> Answer:
    with stores.open_holding_store(asker.config, session, to_write=True) as (store, found):
        with store.database.writing() as db:
            maintenance.set_pinned(db, found.id, pinned=pinned)
        stores.copy_again(store)
    text = f"{found.id} {'is kept permanently' if pinned else 'expires again'}."
    return Answer({"id": found.id, "pinned": pinned}, text)


def forget_sessions(
    asker: Asker,
    sessions: Annotated[tuple[str, ...], Arg(metavar="ID")],
    *,
    yes: Annotated[bool, Arg("do not prompt")] = False,
    facts: Annotated[bool, Arg("also erase the facts of their summaries", one_of="facts")] = False,
    keep_facts: Annotated[bool, Arg("keep those facts", one_of="facts")] = False,
) -> Answer:
    """Permanently delete sessions; they are never read again."""
    config = asker.config
    wanted = [stores.find_holding_store(config, name)[1].id for name in sessions]
    if not yes and not ask_person(f"Permanently delete {', '.join(wanted)}?"):
        raise UsageError("nothing was deleted", "Add --yes to delete without a prompt.")
    # Facts first: if they cannot be erased, the command can be repeated.
    erases = facts or (not keep_facts and _is_to_erase(config, wanted, is_asked=not yes))
    erased = erase_facts(config, wanted) if erases else []
    holders, left_out = stores.find_holders(config, wanted)
    gone: dict[str, None] = {}
    for path, held in holders.items():
        if held:
            with stores.open_to_write(config, path) as store:
                gone |= dict.fromkeys(stores.forget_sessions(config, store, held))
    lines = [f"forgot {name}" for name in gone] + [f"erased {path}" for path in erased]
    data = {"forgotten": list(gone), **({"facts": erased} if erased else {})}
    return Answer(data, "\n".join(lines), left_out)


def _is_to_erase(config: Config, wanted: list[str], *, is_asked: bool) -> bool:
    """Ask the user whether to erase the facts of the summaries."""
    paths = list_facts(config, wanted)
    if not paths:
        return False
    if not is_asked or not sys.stdin.isatty():
        raise UsageError(
            f"nothing was deleted: {inflect(len(paths), 'fact')} in memory from these sessions",
            "Add --facts to erase them, or --keep-facts to keep them.",
        )
    return ask_person(f"Also erase {inflect(len(paths), 'fact')} from their summaries?")


def check_sessions(
    asker: Asker,
    *,
    repair: Annotated[
        bool,
        Arg(
            "fix wrong counts, and restore the last copy of a damaged store",
            flags=("--repair", "--mend"),  # --mend: its former name
        ),
    ] = False,
) -> Answer:
    """Check the store and its counts."""
    problems, lines, notices = list[str](), list[str](), list[str]()
    for path in stores.list_stores(asker.config):
        if repair:
            stores.repair_store(path)
        with (
            stores.open_to_write(asker.config, path) as store,
            store.database.exclusively() as db,
        ):
            notices += store.notices
            found = list(maintenance.check(db, repair=repair))
        problems += found
        lines += found or [f"{path}: no problems found."]
    text = "\n".join(lines) or describe_empty("session")
    is_failure = bool(problems) and not repair
    if is_failure:
        text += "\nTry: context-mode sessions check --repair"
    data = {"ok": not problems, "mended": repair, "problems": problems}
    return Answer(data, text, notices, is_failure=is_failure)


def track_everywhere(config: Config) -> list[Imported]:
    """Read new transcript lines in all projects; return the result of each. Transcripts of
    unknown projects are skipped."""
    of_projects: dict[str, list[tuple[Importer, Transcript]]] = {}
    for importer, found in _list_everywhere(config):
        if project := _find_transcript_project(read_folder(importer, found), str(config.home)):
            of_projects.setdefault(project, []).append((importer, found))
    done: list[Imported] = []
    for project, transcripts in of_projects.items():
        done += _track_one(replace(config, project=Path(project)), transcripts)
    return done


def _list_everywhere(config: Config) -> Iterator[tuple[Importer, Transcript]]:
    recording = stores.read_recording(config)
    ground = Ground(str(config.home), os.environ)
    for importer in list_sources(recording, str(config.home)):
        for found in importer.find(ground):
            yield importer, found


def _find_transcript_project(folder: str, home: str) -> str:
    if not os.path.isabs(folder) or "\0" in folder:
        return ""
    try:
        return find_project(os.path.realpath(folder), home)
    except (OSError, ValueError):
        return ""


def _track_one(config: Config, transcripts: list[tuple[Importer, Transcript]]) -> list[Imported]:
    recording = stores.read_recording(config)
    if not recording.events:
        return []
    oldest = find_oldest(config)
    with stores.open_sessions(config, create=True) as store:
        done = [
            store.import_transcript(importer, found)
            for importer, found in transcripts
            if recording.choice(importer.agent).enabled
            and needs_reading(store.database, found, oldest)
        ]
        maintain(config, store, None)
    return [one for one in done if not one.elsewhere]
