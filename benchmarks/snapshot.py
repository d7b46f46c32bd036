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
import random
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.report import Report, Row, argument_parser, show, summary
from ctxmode.operations.session_store import parse_call
from memory.sessions.event_reading import read_events
from memory.sessions.events import COMMANDS
from memory.sessions.gate import Gate
from memory.sessions.importers.claude_code import parse_line
from memory.sessions.preparing import Prepared, Preparer, Switches
from memory.sessions.records import (
    CompactionRecord,
    MessageRecord,
    Record,
    SessionRecord,
    TaskRecord,
)
from memory.sessions.schema import create_tables
from memory.sessions.snapshot import Subject, build_snapshot
from memory.sessions.texts import shorten_path
from memory.sessions.writing import Writer
from policy.secrets import find_secrets

CALLS_BEFORE, CALLS_AFTER, CALLS_ASKED = 20, 5, 30
COMMAND_CHARS = 80
LONG_SESSIONS = 40
FILES, CALLS_PER_PART, PARTS = 240, 260, 4
_VERBS = ("must never", "always has to", "should not", "needs to")
_THINGS = ("the parser", "the login page", "the importer", "the scheduler", "the cache")


@dataclass(slots=True)
class Score:
    """How many of the things asked for were there."""

    asked: int = 0
    given: int = 0
    with_summary: int = 0

    def count(self, wanted: Iterable[str], snapshot: str, both: str) -> None:
        for one in wanted:
            self.asked += 1
            self.given += one in snapshot
            self.with_summary += one in both

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


@dataclass(frozen=True, slots=True)
class Session:
    """One session's records, and the facts that it was given."""

    records: Sequence[Record]
    facts: Sequence[str] = ()


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


def make_session(seed: int) -> Session:
    """Make up a long session with facts in it. Work moves through the files: what was used lately
    is used again, as in real ones, and some files and commands come back all the time."""
    chance = random.Random(seed)
    files = [f"src/{chance.choice('abcdefgh')}{n % 17}/module_{n}.py" for n in range(FILES)]
    commands = [f"make check-{n} ARGS='--only part{n}'" for n in range(30)]
    thing = chance.choice(_THINGS)
    goal = f"Rewrite {thing} so that request {seed} is served within a second."
    rule = f"The table of {thing} {chance.choice(_VERBS)} be changed by request {seed}."
    last = f"Now go on with part {seed} of {thing}."
    task, broken = f"Document part {seed} of {thing}", f"make broken-{seed}"
    records: list[Record] = [
        SessionRecord(f"s{seed}", working_directory="/p", git_branch=f"topic/{seed}"),
        _prompt("goal", goal + " " + rule),
        TaskRecord("1", task),
    ]
    for part in range(PARTS):
        for number in range(CALLS_PER_PART):
            records += _call(chance, f"{part}-{number}", files, commands, part, number)
        if part == 0:
            records += _failing(broken)
            records.append(_prompt("last", last))
        records.append(CompactionRecord(f"c{part}"))
    return Session(records, (goal[:60], rule, last, task, broken, f"topic/{seed}"))


def _prompt(key: str, text: str) -> MessageRecord:
    return MessageRecord(key, key, "user", text, 1.0, is_prompt=True)


def _call(  # noqa: PLR0913, PLR0917 - where a session stands
    chance: random.Random,
    key: str,
    files: Sequence[str],
    commands: Sequence[str],
    part: int,
    number: int,
) -> list[Record]:
    """One call: mostly of what the work is at, sometimes of anything."""
    at = (part * CALLS_PER_PART + number) * FILES // (PARTS * CALLS_PER_PART)
    near = max(0, min(FILES - 1, round(chance.gauss(at, 4))))
    if chance.random() < 0.3:
        command = commands[min(int(chance.expovariate(0.6)), len(commands) - 1)]
        params, tool = {"command": command}, "Bash"
    else:
        path = files[near] if chance.random() < 0.85 else chance.choice(files[:8])
        params = {"file_path": f"/p/{path}"}
        tool = "Edit" if chance.random() < 0.4 else "Read"
    return [
        MessageRecord(key, key, "tool_call", at=1.0, tool=tool, params=params, call_id=key),
        MessageRecord(f"{key}r", f"{key}r", "tool_result", "ok", 1.0, call_id=key),
    ]


def _failing(command: str) -> list[Record]:
    return [
        MessageRecord("f", "f", "tool_call", tool="Bash", params={"command": command}, call_id="f"),
        MessageRecord(
            "fr", "fr", "tool_result", "error: no", call_id="f", failed=True, exit_code=2
        ),
    ]


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
        before = set(_uses(prepared[:at], first.working_directory))
        calls = list(_calls(prepared[at:]))[:CALLS_ASKED]
        after = set(_uses(calls, first.working_directory)) & before
        if sum(1 for _ in _calls(prepared[:at])) < CALLS_BEFORE or len(calls) < CALLS_AFTER:
            continue
        began = time.perf_counter()
        events = read_events(db, f"claude_code:{first.id}")
        snapshot = build_snapshot(events, Subject(first.id, first.git_branch))
        scores.times_s.append(time.perf_counter() - began)
        beside = build_snapshot(events, Subject(first.id, first.git_branch, summary_text))
        both = beside + "\n" + summary_text
        scores.compactions += 1
        scores.sizes.append(len(snapshot.encode()))
        scores.files.count((t for kind, t in after if kind == "file"), snapshot, both)
        scores.commands.count((t for kind, t in after if kind == "command"), snapshot, both)
        scores.facts.count(session.facts, snapshot, both)
    db.close()


def _compactions(prepared: Sequence[Prepared]) -> Iterator[int]:
    for index, one in enumerate(prepared):
        if isinstance(one.record, CompactionRecord) and not one.record.summary:
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
                yield "command", event.text[:COMMAND_CHARS]


def main() -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("transcripts", nargs="*", type=Path, metavar="TRANSCRIPT")
    parser.add_argument("--sessions", type=int, default=LONG_SESSIONS, help="of the long set")
    args = parser.parse_args()
    scores = Scores()
    sessions = (
        map(read_transcript, args.transcripts)
        if args.transcripts
        else map(make_session, range(args.sessions))
    )
    for session in sessions:
        measure(session, scores)
    report = Report("snapshot")
    if scores.times_s:
        report.add(Row("building a snapshot", summary(scores.times_s)))
    report.figures["compactions"] = scores.compactions
    report.figures["bytes_at_most"] = max(scores.sizes, default=0)
    for name, score in (("files", scores.files), ("commands", scores.commands)):
        report.figures[f"{name}_asked"] = score.asked
        report.figures[f"percent_of_{name}"] = 100 * score.share(score.given)
        report.figures[f"percent_of_{name}_with_the_summary"] = 100 * score.share(
            score.with_summary
        )
    report.figures["percent_of_facts"] = 100 * scores.facts.share(scores.facts.given)
    show(report, as_json=args.json)


if __name__ == "__main__":
    main()
