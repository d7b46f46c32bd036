"""A made-up project with a past, for measures and tests of `context-mode doctor insight`.

The program's own operations write it, except the counts of past days, and an agent's transcripts,
which are imported.
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ctxmode.config.locations import Config, prepare_storage
from ctxmode.hosts.claude_code.transcript import IMPORTER
from ctxmode.operations import audit
from ctxmode.operations.facts import open_memory
from ctxmode.operations.library import open_library
from ctxmode.operations.pages import begin, open_pages
from ctxmode.operations.session_store import open_session_store
from ctxmode.operations.usage import DAY_S, RunRecord, add_refusals, add_run, open_usage
from executor.run.refusals.notices import SOURCES
from kb import SourceSpec
from memory.facts.branching import create_branch
from memory.facts.model import Author, Draft
from memory.pages.model import PushRequest
from memory.sessions.importers.importer import Ground

_DATA: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
STATUSES = (*["ok"] * 40, *["nonzero_exit"] * 8, *_DATA["failures"])


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much of each there is."""

    days: int = 30
    sessions: int = 24
    runs: int = 600
    sources: int = 80


def fill(config: Config, amounts: Amounts, *, now: float, seed: int = 1) -> None:
    """Fill the project's files."""
    prepare_storage(config)
    chance = random.Random(seed)
    fill_counts(config, amounts, chance, now)
    _fill_sessions(config, amounts, chance, now)
    _fill_store(config, amounts, chance)
    _fill_facts(config)
    _fill_pages(config)
    _fill_audit(config)


REFUSALS = tuple(SOURCES[kind].found(*rest)[1] for kind, *rest in _DATA["refusals"])


def fill_counts(config: Config, amounts: Amounts, chance: random.Random, now: float) -> None:
    """Write the counts of calls of past days, and the table of runs."""
    with closing(open_usage(config.usage_file, wait_s=5)) as db:
        db.execute("BEGIN")
        today = int(now) // DAY_S * DAY_S
        for back in range(amounts.days):
            busy = 0.1 if (back + 2) % 7 in (0, 1) else chance.uniform(0.5, 1.4)
            for place, tool in enumerate(_DATA["tools"]):
                calls = int(busy * chance.randrange(8, 40) / (place + 1)) + 1
                returned = calls * chance.randrange(600, 2_400)
                produced = 0 if tool == "ctx_search" else calls * chance.randrange(9_000, 60_000)
                row = (today - back * DAY_S, tool, calls, calls // 12, produced, returned)
                db.execute("INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?, ?)", row)
        for number in range(amounts.runs):
            run = add_run(db, _make_run(chance, now - (amounts.runs - number) * 2_311, number))
            if number % 9 == 0:
                add_refusals(db, run, REFUSALS[: number % 3 + 1])
        db.execute("COMMIT")


def _make_run(chance: random.Random, at: float, number: int) -> RunRecord:
    status, language = chance.choice(STATUSES), chance.choice(_DATA["languages"])
    wall = min(chance.expovariate(2.2), 120.0)
    failed = status == "nonzero_exit"
    return RunRecord(
        at,
        language,
        _DATA["toolchains"][language],
        chance.choice(("analyze", "analyze", "build", "fetch")),
        "A",
        status,
        1 if failed else 0 if status == "ok" else None,
        11 if status == "signalled" else None,
        "run",
        "deny" if status == "denied" else "allow",
        0.0 if status == "denied" else round(wall, 3),
        0.0 if status == "denied" else round(wall * 0.7, 3),
        None if status == "denied" else chance.randrange(9, 180) << 20,
        chance.randrange(1, 9),
        int(chance.lognormvariate(8, 2)),
        chance.randrange(0, 900) if failed else 0,
        chance.choice((0, 0, 0, 2, 5)),
        0,
        0,
        None,
        f"out-{number:08x}" if chance.random() < 0.4 else None,
    )


def _fill_sessions(config: Config, amounts: Amounts, chance: random.Random, now: float) -> None:
    """Write transcripts where Claude Code does, and import them."""
    folder = re.sub(r"[^A-Za-z0-9]", "-", str(config.project))
    place = config.home / ".claude" / "projects" / folder
    place.mkdir(parents=True, exist_ok=True)
    for number in range(amounts.sessions):
        session = f"{chance.getrandbits(32):08x}-2222-4333-8444-{number:012x}"
        began = now - number * amounts.days * DAY_S / amounts.sessions - 1_800
        records = _make_records(chance, session, str(config.project), began)
        text = "".join(json.dumps(record) + "\n" for record in records)
        (place / f"{session}.jsonl").write_text(text)
    ground = Ground(str(config.home), {}, str(config.project))
    path, project = config.sessions_file, str(config.project)
    with open_session_store(path, project, str(config.home), keep_messages=True) as store:
        store.import_all([IMPORTER], ground)


def _make_records(
    chance: random.Random, session: str, cwd: str, began: float
) -> Iterator[dict[str, Any]]:
    at, number = began, 0

    def record(kind: str, **fields: Any) -> dict[str, Any]:
        nonlocal at, number
        at, number = at + chance.uniform(2, 40), number + 1
        return {
            "type": kind,
            "uuid": f"{session}-{number}",
            "sessionId": session,
            "cwd": cwd,
            "gitBranch": chance.choice(("main", "resume")),
            "version": "2.1.330",
            "isSidechain": False,
            "timestamp": datetime.fromtimestamp(at, UTC).isoformat(),
            **fields,
        }

    model = chance.choice(_DATA["models"])
    for _ in range(chance.randrange(2, 6)):
        said = chance.choice(_DATA["prompts"])
        yield record("user", message={"role": "user", "content": said})
        for _ in range(chance.randrange(2, 8)):
            key = f"toolu_{chance.getrandbits(64):016x}"
            tool, given = _choose_call(chance, cwd)
            block = {"type": "tool_use", "id": key, "name": tool, "input": given}
            usage = {
                "input_tokens": chance.randrange(20, 2_000),
                "output_tokens": chance.randrange(50, 1_800),
                "cache_read_input_tokens": chance.randrange(8_000, 90_000),
                "cache_creation_input_tokens": chance.randrange(200, 9_000),
            }
            answer = {"id": f"msg_{key}", "role": "assistant", "model": model, "usage": usage}
            yield record("assistant", message=answer | {"content": [block]})
            failed = chance.random() < 0.1
            text = "AssertionError: part 7 is missing" if failed else "done"
            result = {"type": "tool_result", "tool_use_id": key, "content": text}
            content = [result | {"is_error": failed}]
            yield record("user", message={"role": "user", "content": content})


def _choose_call(chance: random.Random, cwd: str) -> tuple[str, dict[str, Any]]:
    subject, name = chance.choice(_DATA["subjects"]), chance.choice(("parts", "queue", "main"))
    path = f"{cwd}/src/{subject}/{name}.py"
    return chance.choice(
        (
            ("Bash", {"command": chance.choice(_DATA["commands"])}),
            ("Read", {"file_path": path}),
            ("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}),
            ("Grep", {"pattern": "resume"}),
        )
    )


def _fill_store(config: Config, amounts: Amounts, chance: random.Random) -> None:
    with open_library(config) as library:
        for number in range(amounts.sources):
            subject = _DATA["subjects"][number % len(_DATA["subjects"])]
            lines = (
                f"{subject} step {line}: wrote part {chance.randrange(99)}, retry in {line} s"
                for line in range(chance.randrange(20, 200))
            )
            text = "\n".join(lines)
            label = f"docs/{subject}-{number}.md" if number % 3 else f"{subject} log {number}"
            library.store.add(SourceSpec(label), f"# {subject}\n\n{text}\n".encode())


def _fill_facts(config: Config) -> None:
    author = Author("claude_code", "claude_code:1")
    with open_memory(config, author, to_write="project") as memory:
        for number, subject in enumerate(_DATA["subjects"]):
            for kind, text in _DATA["facts"].items():
                path = f"/memory/{kind}/{subject}"
                why = "measured" if number % 2 else "the user said so"
                memory.remember(
                    Draft(
                        text % subject, path=path, why=why, tags=(subject,), is_pinned=number == 0
                    )
                )
        changed = Draft(
            "The upload resumes at any part.", path="/memory/decisions/upload", why="changed"
        )
        memory.remember(changed)
        if memory.project is not None:
            create_branch(memory.project, "try-http3", author=author)
            memory.remember(Draft("Try HTTP/3.", path="/memory/decisions/http"), branch="try-http3")


def _fill_pages(config: Config) -> None:
    with open_pages(config, author="Ann Ox <ann@example.com>") as pages:
        begin(config, pages)
        for text in _DATA["uploads"]:
            pages.write("uploads", text, of_type="concept")
            pages.push(PushRequest(message="What is known of uploads", no_distill=True))
        pages.write("search-index", "# Search index\n\nTwo indexes.\n", of_type="concept")
        pages.push(PushRequest(message="The index", no_distill=True))


def _fill_audit(config: Config) -> None:
    for rule, text in _DATA["audit"]:
        verdict = {"decision": "deny", "matches": [{"rule_id": rule}]}
        entry = audit.build_entry("sandbox", "shell", text, verdict, str(config.project))
        audit.write_entry(config.log_dir, entry)


def multiply_sessions(path: Path, rows: int) -> int:
    """Copy the rows of a store of sessions within it until there are so many; return how many
    there are. The figures of the copied sessions are those of the first."""
    tables = ("message", "event", "usage", "file_touch")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        each = sum(db.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in tables)
        db.execute("BEGIN")
        copies = rows // each + 1
        for copy in range(copies):
            for table in ("session", *tables):
                _copy_rows(db, table, copy)
        db.execute("COMMIT")
        return sum(db.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in tables)


def _copy_rows(db: sqlite3.Connection, table: str, copy: int) -> None:
    """Copy the rows of the sessions that are not copies, under ids of their own."""
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    own = "id" if table == "session" else "session_id"
    chosen = []
    for name in columns:
        if name == own:
            chosen.append(f"{name} || '-copy{copy}'")
        elif name == "id":
            chosen.append("NULL")
        else:
            chosen.append(f'"{name}"')
    names = ", ".join(f'"{name}"' for name in columns)
    db.execute(
        f"INSERT INTO {table} ({names}) SELECT {', '.join(chosen)} FROM {table}"
        f" WHERE {own} NOT LIKE '%-copy%'"
    )


def make_place(folder: Path) -> Config:
    """Make a home, a project in it, and a folder for what is kept."""
    project = folder / "home" / "work" / "uploader"
    (project / ".git").mkdir(parents=True, exist_ok=True)
    return Config(project, folder / "home", folder / "data", config_home=folder / "config")
