"""How the store of sessions bears many writers, and how fast transcripts are read.

    python -m benchmarks.sessions [--json] [TRANSCRIPT …]
    python -m benchmarks.sessions --writers [--processes N] [--events N] [--kills N]

Without --writers: megabytes a second of CPU time that a first import reads, secrets taken out,
with events alone and with messages; of a transcript that is made up, or of Claude Code's own.

With it: processes that each record events as hooks do, waiting as briefly as those, beside one that
imports. Some writers are killed at random moments and begun anew behind what was acknowledged. Then
every event that was acknowledged must be there, and the store sound.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.report import Report, Row, argument_parser, show, summary
from benchmarks.transcripts import write_transcript
from ctxmode.hosts.hooks.bells import STORE_WAIT_S
from ctxmode.operations.session_store import open_session_store
from memory.errors import MemoryRoomError
from memory.sessions import keeping
from memory.sessions.importers.claude_code import IMPORTER
from memory.sessions.importers.importer import Found
from memory.sessions.preparing import digest
from memory.sessions.records import MessageRecord, Record, SessionRecord

PROCESSES, EVENTS, KILLS = 16, 500, 20
OPENED_FOR = 10
"""Events that a writer records before it opens the store anew, as a hook does for each."""

IMPORT_BYTES = 24 << 20
AGENT = "bench"


def _records(writer: int, number: int) -> list[Record]:
    key = f"e{number}"
    text = f"Never use number {number} of writer {writer}."
    return [
        SessionRecord(f"w{writer}"),
        MessageRecord(key, key, "user", text, float(number), is_prompt=True),
    ]


def write_events(store_path: Path, writer: int, first: int, last: int) -> None:
    """Record events one by one; tell each that is committed on stdout, with what it waited."""
    number = first
    while number < last:
        began, failed = time.perf_counter(), ""
        try:
            with open_session_store(store_path, "", "", wait_s=STORE_WAIT_S) as store:
                while number < last:
                    store.record(AGENT, _records(writer, number))
                    _tell(number=number, took_s=time.perf_counter() - began)
                    began = time.perf_counter()
                    number += 1
                    if number % OPENED_FOR == 0:
                        break
        except MemoryRoomError as error:  # it waits on, and is written later
            failed = error.message
        if failed:
            _tell(failed=failed, took_s=time.perf_counter() - began)


def import_on(store_path: Path, transcripts: Sequence[Path]) -> None:
    """Import one transcript after the other, until all are read or the process is ended."""
    with open_session_store(store_path, "", "") as store:
        for path in transcripts:
            done = store.import_transcript(IMPORTER, Found(str(path), path.stem))
            _tell(read=done.bytes_read)


def _tell(**what: Any) -> None:  # noqa: ANN401 - JSON
    os.write(1, json.dumps(what).encode() + b"\n")  # in one piece, or not at all


@dataclass(slots=True)
class _Process:
    """A process, what it tells, and what of it is not yet a whole line."""

    process: subprocess.Popen[bytes]
    writer: int = -1
    acknowledged: set[int] = field(default_factory=set)
    rest: bytes = b""


@dataclass(slots=True)
class _Outcome:
    took_s: list[float] = field(default_factory=list)
    failed_s: list[float] = field(default_factory=list)
    failures: set[str] = field(default_factory=set)
    imported_bytes: int = 0
    killed: int = 0


class _Trial:
    """Writers beside an importer, killed at random."""

    def __init__(self, store_path: Path, args: argparse.Namespace) -> None:
        self._store_path = store_path
        self._events: int = args.events
        self._kills: int = args.kills
        self._chance = random.Random(args.seed)
        self._selector = selectors.DefaultSelector()
        self.outcome = _Outcome()
        self._running: dict[int, _Process] = {}
        self.acknowledged: dict[int, set[int]] = {n: set() for n in range(args.processes)}

    def run(self, transcripts: Sequence[Path]) -> None:
        importer = self._start(["--as-importer", *map(str, transcripts)])
        for writer in self.acknowledged:
            self._start_writer(writer)
        total = self._events * len(self.acknowledged)
        kills = sorted(self._chance.randrange(total * 9 // 10) for _ in range(self._kills))
        while self._running:
            self._listen()
            done = sum(map(len, self.acknowledged.values()))
            while kills and done >= kills[0] and self._running:
                del kills[0]
                self._kill(self._chance.choice(list(self._running)))
        importer.process.kill()
        importer.process.wait()

    def _start(self, words: Sequence[str], writer: int = -1) -> _Process:
        process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, "--store", str(self._store_path), *words],
            stdout=subprocess.PIPE,
        )
        started = _Process(process, writer)
        assert process.stdout is not None
        self._selector.register(process.stdout, selectors.EVENT_READ, started)
        return started

    def _start_writer(self, writer: int) -> None:
        first = max(self.acknowledged[writer], default=-1) + 1
        words = ["--as-writer", str(writer), str(first), str(self._events)]
        self._running[writer] = self._start(words, writer)

    def _listen(self) -> None:
        for key, _ in self._selector.select(timeout=60):
            self._take(key.data)

    def _take(self, process: _Process) -> None:
        """Read what a process tells; at its end begin it anew where it was killed."""
        assert process.process.stdout is not None
        data = os.read(process.process.stdout.fileno(), 65_536)
        *lines, process.rest = (process.rest + data).split(b"\n")
        for line in lines:
            self._note(process, json.loads(line))
        if data:
            return
        self._selector.unregister(process.process.stdout)
        process.process.stdout.close()
        code = process.process.wait()
        if process.writer >= 0:
            if code not in (0, -signal.SIGKILL):
                raise RuntimeError(f"a writer ended with {code}")
            del self._running[process.writer]
            if code:
                self._start_writer(process.writer)

    def _note(self, process: _Process, told: dict[str, Any]) -> None:
        if "read" in told:
            self.outcome.imported_bytes += told["read"]
        elif "failed" in told:
            self.outcome.failed_s.append(told["took_s"])
            self.outcome.failures.add(told["failed"].rpartition(": ")[2])
        else:
            self.outcome.took_s.append(told["took_s"])
            self.acknowledged[process.writer].add(told["number"])

    def _kill(self, writer: int) -> None:
        with suppress(ProcessLookupError):
            self._running[writer].process.kill()
            self.outcome.killed += 1


def try_writers(args: argparse.Namespace) -> Report:
    report = Report("sessions --writers")
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        transcripts = [Path(folder, f"t{number}.jsonl") for number in range(args.transcripts)]
        for number, path in enumerate(transcripts):
            write_transcript(path, IMPORT_BYTES, session=path.stem, cwd="/p", seed=number)
        store_path = Path(folder, "s.sqlite3")
        with open_session_store(store_path, "", ""):
            pass
        trial = _Trial(store_path, args)
        began = time.perf_counter()
        trial.run(transcripts)
        took_s = time.perf_counter() - began
        lost, problems = _count_lost(store_path, trial.acknowledged)
    outcome = trial.outcome
    report.add(Row("an event, from the call to its commit", summary(outcome.took_s)))
    if outcome.failed_s:
        report.add(Row("an attempt that found the store locked", summary(outcome.failed_s)))
    for problem in problems:
        sys.stderr.write(f"check: {problem}\n")
    report.figures.update(
        processes=args.processes,
        acknowledged=sum(map(len, trial.acknowledged.values())),
        lost=lost,
        killed=outcome.killed,
        problems_of_check=len(problems),
        worst_wait_ms=1000 * max(outcome.took_s + outcome.failed_s),
        attempts_that_were_made_again=len(outcome.failed_s),
        imported_beside_mb=outcome.imported_bytes / 1e6,
        seconds_in_all=took_s,
    )
    failures = ", ".join(sorted(outcome.failures)) or "none"
    report.notes = (f"a writer waits {STORE_WAIT_S:g} s for others; failures: {failures}",)
    return report


def _count_lost(store_path: Path, acknowledged: dict[int, set[int]]) -> tuple[int, list[str]]:
    with open_session_store(store_path, "", "") as store, store.database.writing() as db:
        kept = {bytes(row[0]) for row in db.execute("SELECT source_key FROM message")}
        lost = sum(
            digest(f"{AGENT}:w{writer}", f"e{number}") not in kept
            for writer, numbers in acknowledged.items()
            for number in numbers
        )
        return lost, list(keeping.check(db))


def measure_import(transcripts: Sequence[Path], rounds: int) -> Report:
    report = Report("sessions")
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        if not transcripts:
            made = Path(folder, "made.jsonl")
            write_transcript(made, IMPORT_BYTES, session="made", cwd="/p")
            transcripts = [made]
        total = sum(path.stat().st_size for path in transcripts)
        for keep_messages in (False, True):
            best = min(_imports(Path(folder), transcripts, rounds, keep_messages=keep_messages))
            name = "with_messages" if keep_messages else "events_alone"
            report.figures[f"mb_a_second_{name}"] = total / 1e6 / best
        report.figures["mb_read"] = total / 1e6
    report.notes = (f"of CPU time, the best of {rounds} first imports; the bar is 8",)
    return report


def _imports(
    folder: Path, transcripts: Sequence[Path], rounds: int, *, keep_messages: bool
) -> Iterator[float]:
    for number in range(rounds):
        path = folder / f"{keep_messages}-{number}.sqlite3"
        began = time.process_time()
        with open_session_store(path, "", "", keep_messages=keep_messages) as store:
            for transcript in transcripts:
                store.import_transcript(IMPORTER, Found(str(transcript), transcript.stem))
        yield time.process_time() - began


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="TRANSCRIPT")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--writers", action="store_true")
    parser.add_argument("--processes", type=int, default=PROCESSES, metavar="N")
    parser.add_argument("--events", type=int, default=EVENTS, metavar="N", help="of each process")
    parser.add_argument("--kills", type=int, default=KILLS, metavar="N")
    parser.add_argument("--transcripts", type=int, default=6, metavar="N", help="that are imported")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--as-writer", nargs=3, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--as-importer", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.as_writer:
        write_events(args.store, *args.as_writer)
    elif args.as_importer:
        import_on(args.store, args.files)
    elif args.writers:
        show(try_writers(args), as_json=args.json)
    else:
        show(measure_import(args.files, args.rounds), as_json=args.json)


if __name__ == "__main__":
    main()
