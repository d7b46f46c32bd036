"""Recording sessions: reading what is new in transcripts, and how far that is."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import asdict

from ctxmode import exit_codes
from ctxmode.config.locations import Config, load_config
from ctxmode.launch import print_answer, print_json
from ctxmode.operations import sessions as operations
from ctxmode.render.amounts import inflect, size
from ctxmode.render.highlight import one_line
from memory.sessions import reading
from memory.sessions.importers import list_importers
from memory.sessions.importers.importer import Importer
from memory.sessions.importing import Imported
from memory.sessions.model import SourceStatus

POLL_S = 5.0
PRIVATE = "What stands between <private> and </private> in a message is never kept."


def track(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    recording = operations.read_recording(config)
    if not recording.events:
        text = f"Nothing is recorded: {recording.off_by} turns it off."
        print_answer(args, {"off_by": recording.off_by, "transcripts": 0, "messages": 0}, text)
        return exit_codes.OK
    while True:
        done = _read_new(config)
        if done or not args.watch:
            _tell(args, done)
        if not args.watch:
            return exit_codes.OK
        sys.stdout.flush()
        time.sleep(POLL_S)


def _read_new(config: Config) -> list[Imported]:
    ground = operations.find_ground(config)
    with operations.open_sessions(config, create=True) as store:
        done = store.import_all(list_importers(), ground)
    return [one for one in done if not one.elsewhere]


def _tell(args: argparse.Namespace, done: list[Imported]) -> None:
    messages = sum(one.messages for one in done)
    bad_lines = sum(one.bad_lines for one in done)
    problems = [one.problem for one in done if one.problem]
    data = {
        "off_by": "",
        "transcripts": len(done),
        "messages": messages,
        "bytes": sum(one.bytes_read for one in done),
        "bad_lines": bad_lines,
        "held": sum(one.is_held for one in done),
        "problems": problems,
    }
    text = f"Read {inflect(messages, 'new step')} of {inflect(len(done), 'transcript')}."
    if bad_lines:
        text += f" {inflect(bad_lines, 'line')} could not be read."
    print_answer(args, data, "\n".join((text, *map(one_line, problems))))


def status(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    recording = operations.read_recording(config)
    sources: list[SourceStatus] = []
    if config.sessions_file.exists():
        with operations.open_sessions(config) as store, store.database.reading() as db:
            sources = [one for one in reading.read_sources(db) if not one.elsewhere]
    ground = operations.find_ground(config)
    hosts = [
        _describe_host(importer, sum(1 for _ in importer.find(ground)), sources)
        for importer in list_importers()
    ]
    if args.json:
        troubled = [asdict(one) for one in sources if one.problem or one.bad_lines]
        print_json({"recording": recording._asdict(), "hosts": hosts, "troubled": troubled})
        return exit_codes.OK
    lines = [_say_recording(recording.events, recording.messages, recording.off_by), PRIVATE]
    lines += [_say_host(host) for host in hosts if host["found"] or host["read"]]
    lines += [f"{one_line(one.path)}: {one.problem}" for one in sources if one.problem]
    if not any(host["found"] for host in hosts):
        lines.append("No transcript of this project was found.")
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return exit_codes.OK


def _describe_host(
    importer: Importer, found: int, sources: list[SourceStatus]
) -> dict[str, str | int]:
    own = [one for one in sources if one.agent == importer.agent]
    counts = Counter[str]()
    for one in own:
        counts["behind_bytes"] += max(one.size - one.read, 0)
        counts["bad_lines"] += one.bad_lines
    return {
        "agent": importer.agent,
        "title": importer.title,
        "found": found,
        "read": len(own),
        "behind_bytes": counts["behind_bytes"],
        "bad_lines": counts["bad_lines"],
    }


def _say_host(host: dict[str, str | int]) -> str:
    behind, bad = int(host["behind_bytes"]), int(host["bad_lines"])
    parts = [f"{inflect(int(host['found']), 'transcript')} found", f"{host['read']} read"]
    parts += [f"{size(behind)} behind"] if behind else []
    parts += [f"{inflect(bad, 'bad line')}"] if bad else []
    return f"{host['title']}: {', '.join(parts)}"


def _say_recording(events: bool, messages: bool, off_by: str) -> str:
    if not events:
        return f"Nothing is recorded: {off_by} turns it off."
    if messages:
        return "Recorded are events, tokens and the full texts of messages."
    return "Recorded are events and tokens. Full texts are not: transcripts.messages turns them on."
