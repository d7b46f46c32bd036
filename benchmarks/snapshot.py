"""How much of what a compaction loses a snapshot gives back.

    python -m benchmarks.snapshot [--json] [--sessions N] [TRANSCRIPT …]

Without transcripts the sessions are made up, the long set: 200 files and more, several
compactions, a seed each. With transcripts of Claude Code (files of lines) each compaction counts
that has 20 calls before it and 5 after. What was used before a compaction and again within the next
30 calls is to be in the snapshot: files by their path, commands by their first 80 characters. `with
the summary` asks whether the snapshot or the host's own summary has it. Facts are those that a
session was given: its goal, rules, tasks, errors, branch and last request.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.report import Report, Row, argument_parser, show, summary
from benchmarks.snapshot_sets import SHAPES, Session, make_session
from ctxmode.operations.session_store import parse_call
from memory.gate import Gate
from memory.sessions.event_reading import read_events
from memory.sessions.events import COMMANDS
from memory.sessions.importers.claude_code import parse_line
from memory.sessions.preparing import Prepared, Preparer, Switches
from memory.sessions.records import CompactionRecord, MessageRecord, Record, SessionRecord
from memory.sessions.schema import create_tables
from memory.sessions.snapshot import Subject, build_snapshot
from memory.sessions.writing import Writer
from memory.texts import shorten_path
from policy.secrets import find_secrets

CALLS_BEFORE, CALLS_AFTER, CALLS_ASKED = 20, 5, 30
COMMAND_CHARS = 80
LONG_SESSIONS, SHAPE_SESSIONS = 40, 5


@dataclass(frozen=True, slots=True)
class Given:
    """What an agent reads out of a snapshot: its text, full paths, and commands."""

    text: str
    files: frozenset[str]
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is looked into: the snapshot alone, or the host's summary and what is beside it."""

    alone: Given
    beside: Given
    summary: str


@dataclass(slots=True)
class Score:
    """How many of the things asked for were there."""

    asked: int = 0
    given: int = 0
    with_summary: int = 0

    def count(
        self, wanted: Iterable[str], is_given: Callable[[str, Given], bool], asked: Asked
    ) -> None:
        for one in wanted:
            self.asked += 1
            self.given += is_given(one, asked.alone)
            self.with_summary += one in asked.summary or is_given(one, asked.beside)

    def share(self, number: int) -> float:
        return number / self.asked if self.asked else 1.0


@dataclass(slots=True)
class Scores:
    """All that was asked of a set of sessions."""

    files: Score = field(default_factory=Score)
    commands: Score = field(default_factory=Score)
    facts: Score = field(default_factory=Score)
    compactions: int = 0
    sizes: list[int] = field(default_factory=list)
    times_s: list[float] = field(default_factory=list)


def read_transcript(path: Path) -> Session:
    """Read a transcript of Claude Code; lines that are none are passed over."""
    state: dict[str, object] = {}
    records: list[Record] = []
    for line in path.read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            records += parse_line(value, state)
    return Session(records)


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


def has_file(path: str, given: Given) -> bool:
    """Whether the full path can be read; a name alone does not count."""
    return path in given.files


def has_command(command: str, given: Given) -> bool:
    """Whether a command can be read that begins alike. Where one is told up to a text that it is
    given, which goes to a file that is named, that is enough; and one that shows a file is told by
    the file's path."""
    wanted = _without_tail(command)
    words = wanted.split()
    is_plain = not any(mark in wanted for mark in "|;&<>$`")
    if is_plain and words[:1] in (["cat"], ["sed"], ["nl"], ["head"], ["tail"]):  # noqa: SIM102
        if has_file(words[-1], given):
            return True
    for shown in given.commands:
        head = shown.removesuffix(" …")
        is_told_by_file = head != shown and ">" in head and "<<" in head.rpartition(" ")[2]
        if shown.startswith(command[:COMMAND_CHARS]):
            return True
        if is_told_by_file and command.startswith(head):
            return True
    return False


def _without_tail(command: str) -> str:
    parts = command.replace("2>&1", "").split("|")
    while len(parts) > 1 and parts[-1].split()[:1] in (["head"], ["tail"]):
        parts.pop()
    return "|".join(parts).strip()


def has_text(text: str, given: Given) -> bool:
    """Whether a fact stands there word for word."""
    return text in given.text


def measure(session: Session, scores: Scores) -> None:
    """Ask of each compaction of a session what its snapshot gives back."""
    preparer = Preparer(Gate(find_secrets), parse_call, Switches())
    prepared = [preparer.prepare(record) for record in session.records]
    first = next((r for r in session.records if isinstance(r, SessionRecord)), None)
    if first is None:
        return
    db = sqlite3.connect(":memory:", isolation_level=None)
    create_tables(db)
    writer = Writer(db, "claude_code", now=0.0, keys_are_global=True)
    done = 0
    for at in _compactions(prepared):
        writer.write(prepared[done:at])
        writer.finish()
        done = at
        summary_text = _summary(prepared[at:])
        before = set(map(_begin, _uses(prepared[:at], first.working_directory)))
        calls = list(_calls(prepared[at:]))[:CALLS_ASKED]
        later = {_begin(use): use for use in _uses(calls, first.working_directory)}
        after = [use for begin, use in later.items() if begin in before]
        if sum(1 for _ in _calls(prepared[:at])) < CALLS_BEFORE or len(calls) < CALLS_AFTER:
            continue
        began = time.perf_counter()
        events = read_events(db, f"claude_code:{first.id}")
        snapshot = build_snapshot(events, Subject(first.id, first.git_branch))
        scores.times_s.append(time.perf_counter() - began)
        beside = build_snapshot(events, Subject(first.id, first.git_branch, summary_text))
        asked = Asked(read_snapshot(snapshot), read_snapshot(beside), summary_text)
        scores.compactions += 1
        scores.sizes.append(len(snapshot.encode()))
        scores.files.count((t for kind, t in after if kind == "file"), has_file, asked)
        scores.commands.count((t for kind, t in after if kind == "command"), has_command, asked)
        scores.facts.count(session.facts, has_text, asked)
    db.close()


def _compactions(prepared: Sequence[Prepared]) -> Iterator[int]:
    """Yield where compactions are; a second record of one, with its summary, is none."""
    seen = set()
    for index, one in enumerate(prepared):
        if isinstance(one.record, CompactionRecord) and one.record.key not in seen:
            seen.add(one.record.key)
            yield index


def _summary(prepared: Sequence[Prepared]) -> str:
    records = (one.record for one in prepared)
    return next((r.summary for r in records if isinstance(r, CompactionRecord) and r.summary), "")


def _calls(prepared: Iterable[Prepared]) -> Iterator[Prepared]:
    for one in prepared:
        if isinstance(one.record, MessageRecord) and one.record.role == "tool_call":
            yield one


def _uses(prepared: Iterable[Prepared], folder: str) -> Iterator[tuple[str, str]]:
    for one in prepared:
        for event in one.events:
            if event.category in ("file_edit", "file_read"):
                yield "file", shorten_path(event.target, folder, "")
            elif event.category in COMMANDS:
                yield "command", event.text


def _begin(use: tuple[str, str]) -> tuple[str, str]:
    kind, text = use
    return kind, text[:COMMAND_CHARS] if kind == "command" else text


def main() -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("transcripts", nargs="*", type=Path, metavar="TRANSCRIPT")
    parser.add_argument("--sessions", type=int, default=LONG_SESSIONS, help="of the long set")
    args = parser.parse_args()
    report = Report("snapshot")
    if args.transcripts:
        _report_one(report, "", map(read_transcript, args.transcripts))
    for name, shape in {} if args.transcripts else SHAPES.items():
        number = args.sessions if name == "long" else min(args.sessions, SHAPE_SESSIONS)
        _report_one(report, name, (make_session(shape, seed) for seed in range(number)))
    show(report, as_json=args.json)


def _report_one(report: Report, name: str, sessions: Iterable[Session]) -> None:
    """Measure a set and add its figures, each under the set's name."""
    scores = Scores()
    for session in sessions:
        measure(session, scores)
    if scores.times_s:
        report.add(Row(f"building a snapshot: {name}".removesuffix(": "), summary(scores.times_s)))
    of = f"{name}: " if name else ""
    figures = report.figures
    figures[f"{of}compactions"] = scores.compactions
    figures[f"{of}bytes_at_most"] = max(scores.sizes, default=0)
    for what, score in (("files", scores.files), ("commands", scores.commands)):
        figures[f"{of}{what}_asked"] = score.asked
        figures[f"{of}percent_of_{what}"] = 100 * score.share(score.given)
        if not name:
            figures[f"percent_of_{what}_with_the_summary"] = 100 * score.share(score.with_summary)
    if scores.facts.asked:
        figures[f"{of}percent_of_facts"] = 100 * scores.facts.share(scores.facts.given)


if __name__ == "__main__":
    main()
