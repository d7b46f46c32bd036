"""Recording sessions: reading what is new in transcripts."""

from __future__ import annotations

import argparse
import sys

from ctxmode import exit_codes
from ctxmode.config.locations import Config, load_config
from ctxmode.launch import print_answer, tell
from ctxmode.operations import sessions as operations
from ctxmode.operations.session_everywhere import track_everywhere
from ctxmode.operations.session_sources import find_oldest, list_sources
from ctxmode.operations.session_watch import News, read_poll_s
from ctxmode.render.amounts import inflect
from ctxmode.render.highlight import one_line
from memory.sessions import Imported, is_old


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
