"""Snapshots: how much of what a compaction loses they give back.

What was used before a compaction and again within the next 30 calls is to be in the snapshot: files
by their full path, commands by their first 80 characters. Facts are those that a session was given:
its goal, rules, tasks, errors, branch and last request. A compaction counts that has 20 calls
before it and 5 after.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from base.secrets import find_secrets
from benchmarks.harness import Bench, measure
from benchmarks.shapes import SHAPES, make_session
from ctxmode.operations.session_store import parse_call
from memory.gate import Gate
from memory.sessions.events import COMMANDS
from memory.sessions.preparing import Prepared, Preparer
from memory.sessions.records import CompactionRecord, MessageRecord, Record, SessionRecord
from memory.sessions.session_news import read_events
from memory.sessions.session_rows import create_tables
from memory.sessions.snapshot import build_snapshot
from memory.sessions.writing import Writer
from memory.texts import shorten_path

CALLS_BEFORE, CALLS_AFTER, CALLS_ASKED = 20, 5, 30
COMMAND_CHARS = 80


@dataclass(frozen=True, slots=True)
class Given:
    """What an agent reads out of a snapshot: its text, full paths, and commands."""

    text: str
    files: frozenset[str]
    commands: tuple[str, ...]


def read_snapshot(text: str) -> Given:
    """Read the paths and commands of a snapshot as its titles and marks tell."""
    part, commands = "", []
    files: set[str] = set()
    for line in text.split("\n"):
        if line in ("Files (* edited):", "Commands (! failed):"):
            part = line[0]
        elif line.startswith(("Git: ", "context-mode: ")):
            part = ""
        elif part == "F":
            files.update(read_paths(line))
        elif part == "C":
            commands.append(line.removeprefix("! "))
    return Given(text, frozenset(files), tuple(commands))


def read_paths(line: str) -> Iterator[str]:
    """Read the paths of one line: in quotes, alone, or names behind their folder."""
    if line.startswith('"'):
        yield json.loads(line.removesuffix("*"))
        return
    folder, mark, names = line.rpartition(": ")
    for name in names.split(" ") if mark else [line]:
        yield folder + name.removesuffix("*")


def has_command(command: str, given: Given) -> bool:
    """Tell whether a command can be read that begins alike.

    It is enough that one is told up to a text that goes to a file which is named. A command that
    shows a file is told by the file's path.
    """
    wanted = _without_tail(command)
    words = wanted.split()
    is_plain = not any(mark in wanted for mark in "|;&<>$`")
    shows_file = is_plain and words[:1] in (["cat"], ["sed"], ["nl"], ["head"], ["tail"])
    if shows_file and words[-1] in given.files:
        return True
    for shown in given.commands:
        head = shown.removesuffix(" …")
        is_told_by_file = head != shown and ">" in head and "<<" in head.rpartition(" ")[2]
        if shown.startswith(command[:COMMAND_CHARS]) or (
            is_told_by_file and command.startswith(head)
        ):
            return True
    return False


def _without_tail(command: str) -> str:
    parts = command.replace("2>&1", "").split("|")
    while len(parts) > 1 and parts[-1].split()[:1] in (["head"], ["tail"]):
        parts.pop()
    return "|".join(parts).strip()


def _ask(
    records: Sequence[Record], facts: Sequence[str], scores: dict[str, list[bool]]
) -> Iterator[tuple[int, float]]:
    """Score by kind, of each compaction of a session, what its snapshot gives back. Yield its bytes
    and the seconds of building it."""
    preparer = Preparer(Gate(find_secrets), parse_call)
    prepared = [preparer.prepare(record) for record in records]
    first = next(record for record in records if isinstance(record, SessionRecord))
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        create_tables(db)
        writer = Writer(db, "claude_code", now=0.0, keys_are_global=True)
        done = 0
        for at, one in enumerate(prepared):
            if not isinstance(one.record, CompactionRecord):
                continue
            writer.write(prepared[done:at])
            writer.finish()
            done = at
            calls = list(_calls(prepared[at:]))[:CALLS_ASKED]
            if len(list(_calls(prepared[:at]))) < CALLS_BEFORE or len(calls) < CALLS_AFTER:
                continue
            began = time.perf_counter()
            events = read_events(db, f"claude_code:{first.id}")
            snapshot = build_snapshot(events, first.id, first.git_branch)
            yield len(snapshot.encode()), time.perf_counter() - began
            given = read_snapshot(snapshot)
            before = {begin for begin, _ in _uses(prepared[:at], first.working_directory)}
            later = dict(_uses(calls, first.working_directory))
            for (kind, begin), text in later.items():
                if (kind, begin) in before:
                    is_given = text in given.files if kind == "files" else has_command(text, given)
                    scores[kind].append(is_given)
            scores["facts"] += [fact in given.text for fact in facts]


def _calls(prepared: Iterable[Prepared]) -> Iterator[Prepared]:
    for one in prepared:
        if isinstance(one.record, MessageRecord) and one.record.role == "tool_call":
            yield one


def _uses(prepared: Iterable[Prepared], folder: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the kind of each use and how it begins, by which uses are alike; and its text."""
    for one in prepared:
        for event in one.events:
            if event.category in ("file_edit", "file_read"):
                path = shorten_path(event.target, folder, "")
                yield ("files", path), path
            elif event.category in COMMANDS:
                yield ("commands", event.text[:COMMAND_CHARS]), event.text


@measure(2)
def given_back(bench: Bench) -> None:
    """Measure what a compaction loses that a snapshot gives back, by shape of session."""
    for name in filter(bench.wants, SHAPES):
        scores = dict[str, list[bool]](files=[], commands=[], facts=[])
        built = [
            one for seed in range(bench.rounds) for one in _ask(*make_session(name, seed), scores)
        ]
        for what, given in scores.items():
            if given:
                bench.value(f"{name}: {what} in it", 100 * sum(given) / len(given), "%")
        bench.times(f"{name}: building a snapshot", [time_s for _, time_s in built])
        title = f"{name}: the largest of {len(built)}"
        bench.value(title, max(size for size, _ in built), "bytes", bar="≤ 2048 bytes")
