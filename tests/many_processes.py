"""Many processes at one store, some of which are killed: nothing acknowledged may be lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ctxmode.operations.session_store import open_session_store
from kb import Store
from memory.facts.reading import read_changes, read_facts
from memory.facts.restoring import check_store
from memory.facts.store import FactStore
from memory.sessions import maintenance
from memory.sessions.preparing import key_of

ENDLESS = 1 << 30
_GRACE_S = 600

# Programs get a path, a name, seconds and a count. Each acknowledged write is printed, as + and its
# id, or - where it was taken back: what is killed after that may not be lost.
_HEAD = """
import sys, time
from pathlib import Path
path, name, seconds, count = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
end, slowest, n = time.monotonic() + seconds, 0.0, 0
def goes_on(): return n < count and time.monotonic() < end
"""
_TAIL = """
print(f"{slowest:.3f}", flush=True)
"""
FACT_WRITER = """
from memory.facts.model import Author, Draft
from memory.facts.store import FactStore
from memory.facts.writing import forget, pin, remember
author = Author(name, name)
with FactStore(path, find_secrets=lambda _: ()) as store:
    while goes_on():
        started = time.monotonic()
        text = f"{name} number{n} deploys the service at {n % 24} hours " * (1 + n % 9)
        written = remember(store, Draft(text, key=f"{name}-{n}"), author)
        remember(store, Draft(f"version {n} of {name}", key="shared"), author)
        print(f"+{written.id}", flush=True)
        if n % 5 == 1:
            pin(store, written.id, author)
        if n % 5 == 2:
            forget(store, written.id, author)
            print(f"-{written.id}", flush=True)
        slowest, n = max(slowest, time.monotonic() - started), n + 1
"""
FACT_READER = """
from memory.facts.recalling import RecallRequest, recall
from memory.facts.store import FactStore
with FactStore(path, find_secrets=lambda _: ()) as store:
    while goes_on():
        found = recall([store], RecallRequest(f"service number{n % 50} hours"))
        assert found.tokens <= 1500
        n += 1
"""
SOURCE_WRITER = """
from kb import SourceSpec, Store
with Store.open(path) as store:
    while goes_on():
        started = time.monotonic()
        text = f"common text number{n} of writer{name}\\n".encode() * (1 + n * 7 % 400)
        added = store.add(SourceSpec(f"{name} {n}"), text)
        store.add(SourceSpec("shared"), f"version {n} by writer{name}".encode())
        print(f"+{added.source_id}", flush=True)
        slowest, n = max(slowest, time.monotonic() - started), n + 1
"""
SOURCE_READER = """
from kb import Store
with Store.open(path) as store:
    while goes_on():
        (result,) = store.search(f"common number{n % 50}")
        for hit in result.hits:
            assert store.text(hit.source_id, hit.start_byte, hit.end_byte).decode() == hit.text
        n += 1
"""
# As a hook does, it opens the store for a few events, and what finds it locked is written later.
EVENT_WRITER = """
from ctxmode.hosts.hooks.session_hooks import STORE_WAIT_S
from ctxmode.operations.session_store import open_session_store
from memory.errors import MemoryRoomError
from memory.sessions.records import MessageRecord, SessionRecord
while goes_on():
    started = time.monotonic()
    try:
        with open_session_store(path, "", "", wait_s=STORE_WAIT_S) as store:
            for _ in range(10):
                if not goes_on():
                    break
                text = f"Never use number {n} of writer {name}."
                asked = MessageRecord(f"e{n}", f"e{n}", "user", text, float(n), is_prompt=True)
                store.record("bench", [SessionRecord(name), asked])
                print(f"+{name}:{n}", flush=True)
                n += 1
    except MemoryRoomError:
        pass
    slowest = max(slowest, time.monotonic() - started)
"""
EVENT_IMPORTER = """
from benchmarks.transcripts import write_transcript
from ctxmode.operations.session_store import open_session_store
from ctxmode.hosts.claude_code.transcript import IMPORTER
from memory.sessions.importers.importer import Transcript
transcript = path.with_name(f"{name}.jsonl")
with open_session_store(path, "", "") as store:
    while goes_on():
        write_transcript(transcript, 1 << 20, session=name, cwd="/p", seed=n)
        store.import_transcript(IMPORTER, Transcript(str(transcript), name))
        n += 1
"""


def _check_facts(path: Path, added: set[str], gone: set[str]) -> list[str]:
    with FactStore(path, find_secrets=lambda _: ()) as store:
        with store.database.reading() as db:
            live = {fact.id for fact in read_facts(db, now=store.clock())}
            written = {change.fact_id for change in read_changes(db)}
        problems = [*check_store(store), *store.notices]
    back = [f"{name} was retracted and stands" for name in sorted(gone & live)]
    return problems + [f"{name} is lost" for name in sorted(added - written)] + back


def _check_sources(path: Path, added: set[str], _: set[str]) -> list[str]:
    with Store.open(path) as store:
        sources = store.sources(include_superseded=True)
        kept = {str(source.id) for source in sources if source.complete}
        problems = [*map(str, store.check()), *store.notices]
    return problems + [f"source {name} is lost" for name in sorted(added - kept)]


def _check_events(path: Path, added: set[str], _: set[str]) -> list[str]:
    with open_session_store(path, "", "") as store, store.database.writing() as db:
        kept = {bytes(row[0]) for row in db.execute("SELECT source_key FROM message")}
        problems = list(maintenance.check(db))
    names = (name.rpartition(":") for name in sorted(added))
    lost = [f"{w}:{n}" for w, _, n in names if key_of(f"bench:{w}", f"e{n}") not in kept]
    return problems + [f"event {name} is lost" for name in lost]


class Kind(NamedTuple):
    """A store: programs that write and read it, and what finds problems with it."""

    writer: str
    reader: str
    check: Callable[[Path, set[str], set[str]], list[str]]

    def find_problems(self, path: Path, lines: Sequence[str]) -> list[str]:
        """List what is wrong with a store that acknowledged these lines."""
        added = {line[1:] for line in lines if line.startswith("+")}
        return self.check(path, added, {line[1:] for line in lines if line.startswith("-")})


FACTS = Kind(FACT_WRITER, FACT_READER, _check_facts)
SOURCES = Kind(SOURCE_WRITER, SOURCE_READER, _check_sources)
EVENTS = Kind(EVENT_WRITER, EVENT_IMPORTER, _check_events)


class Outcome(NamedTuple):
    """The work of processes: acknowledged writes, the slowest round of writes, and problems."""

    acknowledged: int
    slowest_s: float
    problems: list[str]


def _start(
    program: str, path: Path, name: str, seconds: float, count: int
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _HEAD + program + _TAIL, str(path), name, str(seconds), str(count)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_together(
    kind: Kind,
    path: Path,
    seconds: float,
    count: int = ENDLESS,
    *,
    writers: int = 8,
    readers: int = 4,
    reads: int | None = None,
) -> Outcome:
    """Write and read with many processes at once, each so many times at most."""
    started = [_start(kind.writer, path, f"w{n}", seconds, count) for n in range(writers)]
    beside = [_start(kind.reader, path, f"r{n}", seconds, reads or count) for n in range(readers)]
    lines: list[str] = []
    problems: list[str] = []
    slowest_s = 0.0
    for process in (*started, *beside):
        output, errors = process.communicate(timeout=seconds + _GRACE_S)
        if process.returncode:
            problems.append(errors)
        else:
            *own, last = output.splitlines()
            lines += own
            slowest_s = max(slowest_s, float(last))
    problems += kind.find_problems(path, lines)
    return Outcome(sum(line.startswith("+") for line in lines), slowest_s, problems)


def kill_writers(
    kind: Kind, path: Path, kills: int, *, writers: int = 1, readers: int = 0, count: int = ENDLESS
) -> Outcome:
    """Kill a writer at random moments, again and again, beside others that end by themselves."""
    chance = random.Random(11)
    lines: list[str] = []
    problems: list[str] = []
    beside = [_start(kind.reader, path, f"k{n}", _GRACE_S, ENDLESS) for n in range(readers)]
    try:
        for number in range(kills):
            names = [f"k{number}-{one}" for one in range(writers)]
            at = chance.randrange(writers)  # who is killed goes on until then
            counts = [ENDLESS if one == at else count for one in range(writers)]
            started = [
                _start(kind.writer, path, name, _GRACE_S, most)
                for name, most in zip(names, counts, strict=True)
            ]
            victim = started[at]
            assert victim.stdout is not None
            # After so many lines, within whichever call comes then: the reader is not in step.
            for _ in range(chance.randrange(1, 20)):
                lines.append(victim.stdout.readline().strip())
            victim.send_signal(signal.SIGKILL)
            for process in started:
                output, errors = process.communicate(timeout=_GRACE_S)
                lines += [line for line in output.splitlines() if line[:1] in "+-"]
                problems += [errors] if process.returncode not in (0, -signal.SIGKILL) else []
            problems += [] if victim.returncode == -signal.SIGKILL else ["none was killed"]
            problems += kind.find_problems(path, lines)
    finally:
        for process in beside:
            process.kill()
            process.communicate()
    return Outcome(sum(line.startswith("+") for line in lines), 0.0, problems)
