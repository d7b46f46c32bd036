"""Hooks that record sessions: CPU time of the whole process, beside an idle interpreter.

User and system time are counted, so that other processes of the machine are not.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
import tomllib
from contextlib import closing
from pathlib import Path

from benchmarks.harness import DATA, Bench, measure, write_files
from benchmarks.processes import start
from benchmarks.transcripts import write_transcript
from ctxmode.config.file_names import name_capture_mark

NOTHING = (sys.executable, "-I", "-S", "-c", "pass")
READ_BEFORE = 2 << 20
TEXTS = {
    "ANSWER": "I have fixed the form. The key: it is in a.py, and the tests pass. " * 30,
    "PROMPT": "Fix the login form. " * 10,
}
SESSION = "5e1f0000-0000-4000-8000-000000000001"


class HookPlace:
    """A home with a project, and a transcript of a session in it."""

    def __init__(self, root: Path) -> None:
        self.project, self.data = root / "project", root / "data"
        folder = re.sub(r"[^A-Za-z0-9]", "-", str(self.project))
        home = root / "home"
        self.transcript = home / ".claude" / "projects" / folder / f"{SESSION}.jsonl"
        kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "PYTHONPATH")}
        self.environment = {**kept, "HOME": str(home), "CONTEXT_MODE_DIR": str(self.data)}
        write_files(self.project, [(".git/HEAD", "ref: refs/heads/main\n")])
        self.transcript.parent.mkdir(parents=True)
        self.transcript.touch()

    def grow(self, bytes_min: int, seed: int) -> None:
        """Write more of the session."""
        cwd = str(self.project)
        write_transcript(self.transcript, bytes_min, session=SESSION, cwd=cwd, seed=seed)

    def start(self, *words: str, stdin: bytes = b"") -> float:
        """Return the CPU time of the program, as it is installed."""
        installed = Path(sys.executable).with_name("context-mode")
        program = [str(installed)] if installed.exists() else [sys.executable, "-m", "ctxmode"]
        return start([*program, *words], self.environment, self.project, stdin)[1]

    def has_snapshot(self) -> bool:
        """Tell whether a snapshot is stored."""
        for path in (self.data / "projects").glob("*.sessions.sqlite3"):
            with closing(sqlite3.connect(path)) as db:
                kept = db.execute("SELECT COUNT(*) FROM snapshot WHERE bytes > 0").fetchone()
                return bool(kept[0])
        return False

    def before(self, what: str, seed: int) -> None:
        """Do what happens ahead of an event."""
        if what.startswith("grow "):
            self.grow(int(what.removeprefix("grow ")), seed)
        elif what == "fall behind":  # by a transcript of 20 MiB, none of it read
            for file in (self.data / "projects").glob("*.sessions.sqlite3*"):
                file.unlink()
            if not self.transcript.stat().st_size:
                self.grow(20 << 20, seed)
        elif what == "capture":  # begin it, and forget the turn that was recorded before
            (self.project / ".contexo").mkdir(exist_ok=True)
            mark = Path(name_capture_mark(str(self.project.resolve()), str(self.data)))
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
            for path in self.project.glob(".contexo/raw/sessions/_pending/*.jsonl"):
                path.unlink()


@measure(8)
def events(bench: Bench) -> None:
    """Measure CPU time of hooks that record sessions, beside a bare interpreter."""
    cases = tomllib.loads((DATA / "hooks.toml").read_text())
    for number, (name, case) in enumerate(cases.items()):
        if not bench.wants(name):
            continue
        place = HookPlace(bench.folder / str(number))
        if not case.get("is_new"):
            place.grow(READ_BEFORE, 10_000 + number)
            place.start("sessions", "track")
        told = {
            "session_id": SESSION,
            "transcript_path": str(place.transcript),
            "cwd": str(place.project),
            "hook_event_name": case["event"],
            **{key: TEXTS.get(text, text) for key, text in case["fields"].items()},
        }
        words = ("hook", case.get("host", "claude-code"), case["event"])
        mine, others, stored = [], [], 0
        for seed in range(bench.rounds + 1):  # modules are compiled in the first
            place.before(case.get("before", ""), seed)
            others.append(start(NOTHING, place.environment)[1])
            mine.append(place.start(*words, stdin=json.dumps(told).encode()))
            stored += place.has_snapshot()
        bench.times(name, mine[1:], "python -I -S -c pass", others[1:], case.get("bar", ""))
        if case.get("before") == "fall behind":
            bench.value(f"{name}: snapshots made in time", 100 * stored / len(mine), "%")
