"""What hooks cost that ring for the record of sessions: CPU time of the whole process.

    python -m benchmarks.hooks [--rounds N] [--json]

Each in turn with an interpreter that does nothing (`python -I -S -c pass`); `added` is to be at
most the bar. User and system time are counted, so that other processes of the machine are not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Report, Row, argument_parser, show, summary
from benchmarks.transcripts import write_transcript
from ctxmode.config.file_names import name_capture_mark

ROUNDS = 20
MIB = 1 << 20
NOTHING = (sys.executable, "-I", "-S", "-c", "pass")


@dataclass(frozen=True, slots=True)
class Place:
    """A home with a project, and a transcript of a session in it."""

    root: Path
    session: str = "5e1f0000-0000-4000-8000-000000000001"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def transcript(self) -> Path:
        folder = re.sub(r"[^A-Za-z0-9]", "-", str(self.project))
        return self.home / ".claude" / "projects" / folder / f"{self.session}.jsonl"

    @property
    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "PYTHONPATH")}
        return {**kept, "HOME": str(self.home), "CONTEXT_MODE_DIR": str(self.data)}

    def prepare(self) -> None:
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.transcript.parent.mkdir(parents=True)
        self.transcript.touch()

    def grow(self, bytes_min: int, seed: int) -> None:
        """Write more of the session."""
        cwd = str(self.project)
        write_transcript(self.transcript, bytes_min, session=self.session, cwd=cwd, seed=seed)

    def ring(self, host: str, event: str, **fields: str) -> float:
        """Ring a bell as the host does; return the seconds of CPU time that it took."""
        told = {
            "session_id": self.session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "hook_event_name": event,
            **fields,
        }
        words = [*find_program(), "hook", host, event]
        return cpu_seconds(words, self.environment, self.project, json.dumps(told).encode())

    def has_snapshot(self) -> bool:
        """Tell whether a snapshot is kept."""
        for path in (self.data / "projects").glob("*.sessions.sqlite3"):
            with closing(sqlite3.connect(path)) as db:
                return bool(
                    db.execute("SELECT COUNT(*) FROM snapshot WHERE bytes > 0").fetchone()[0]
                )
        return False

    def read_all(self) -> None:
        """Read what is new, before what is measured."""
        words = [*find_program(), "sessions", "track"]
        subprocess.run(
            words, env=self.environment, cwd=self.project, check=True, stdout=subprocess.DEVNULL
        )


def find_program() -> list[str]:
    """Return the command that `setup` registers: the program as it is installed."""
    installed = Path(sys.executable).with_name("context-mode")
    return [str(installed)] if installed.exists() else [sys.executable, "-m", "ctxmode"]


def cpu_seconds(
    words: Sequence[str], environment: Mapping[str, str], cwd: Path, stdin: bytes = b""
) -> float:
    """Return the user and system time of a process."""
    process = subprocess.Popen(
        list(words),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=dict(environment),
        cwd=cwd,
    )
    assert process.stdin is not None
    process.stdin.write(stdin)
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


@dataclass(frozen=True, slots=True)
class Case:
    """One bell: what comes before each ringing, untimed, and how it rings."""

    name: str
    bar_ms: float | None
    before: Callable[[Place, int], None]
    ring: Callable[[Place], float]


def nothing_before(place: Place, seed: int) -> None:
    """Leave all as it is."""


def _read(bytes_min: int) -> Callable[[Place, int], None]:
    def before(place: Place, seed: int) -> None:
        place.grow(bytes_min, seed)

    return before


def _begin_anew(bytes_min: int) -> Callable[[Place, int], None]:
    """Return what leaves a transcript of so many bytes, and none of it read."""

    def before(place: Place, seed: int) -> None:
        for file in (place.data / "projects").glob("*.sessions.sqlite3*"):
            file.unlink()
        if not place.transcript.stat().st_size:
            place.grow(bytes_min, seed)

    return before


def _ring(host: str, event: str, **fields: str) -> Callable[[Place], float]:
    return lambda place: place.ring(host, event, **fields)


def _make_drafts(place: Place, seed: int) -> None:
    """Begin the capture of turns, and forget the turn that was recorded before."""
    (place.project / ".contexo").mkdir(exist_ok=True)
    mark = Path(name_capture_mark(str(place.project.resolve()), str(place.data)))
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    for path in place.project.glob(".contexo/raw/sessions/_pending/*.jsonl"):
        path.unlink()


_ANSWER = "I have mended the form. The key: it is in a.py, and the tests pass. " * 30
CASES = (
    Case("Stop, turns not captured", 30, nothing_before,
         _ring("claude-code", "Stop", last_assistant_message=_ANSWER)),
    Case("UserPromptSubmit, turns captured", 40, _make_drafts,
         _ring("claude-code", "UserPromptSubmit", prompt="Mend the login form. " * 10)),
    Case("Stop, turns captured", 40, _make_drafts,
         _ring("claude-code", "Stop", last_assistant_message=_ANSWER)),
    Case("SessionStart startup, nothing kept", 30, nothing_before,
         _ring("claude-code", "SessionStart", source="startup")),
    Case("UserPromptSubmit, nothing kept", 30, nothing_before,
         _ring("vscode-copilot", "UserPromptSubmit", prompt="go on")),
    Case("UserPromptSubmit, nothing new", 30, nothing_before,
         _ring("vscode-copilot", "UserPromptSubmit", prompt="go on")),
    Case("SessionStart startup, nothing new", 30, nothing_before,
         _ring("claude-code", "SessionStart", source="startup")),
    Case("SessionStart resume, nothing new", 30, nothing_before,
         _ring("claude-code", "SessionStart", source="resume")),
    Case("SessionStart compact, 1 MiB new", 150, _read(MIB),
         _ring("claude-code", "SessionStart", source="compact")),
    Case("PreCompact, 1 MiB new", None, _read(MIB),
         _ring("claude-code", "PreCompact", trigger="auto")),
    Case("SessionEnd, 64 KiB new", None, _read(MIB // 16),
         _ring("claude-code", "SessionEnd", reason="exit")),
    Case("PreCompact, 20 MiB behind", 1000, _begin_anew(20 * MIB),
         _ring("claude-code", "PreCompact", trigger="auto")),
)  # fmt: skip
KEPT_BEFORE = 2 * MIB
"""Of the session what was read before, where something was."""


def measure(rounds: int, wanted: str = "") -> Report:
    report = Report("hooks")
    missed = 0
    for number, case in enumerate(CASES):
        if wanted not in case.name:
            continue
        with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
            place = Place(Path(folder))
            place.prepare()
            if "nothing kept" not in case.name and "behind" not in case.name:
                place.grow(KEPT_BEFORE, 10_000 + number)
                place.read_all()
            samples = []
            kept = 0
            for seed in range(rounds + 1):  # in the first one modules are compiled
                case.before(place, seed)
                other = cpu_seconds(NOTHING, place.environment, place.project)
                samples.append((case.ring(place), other))
                kept += place.has_snapshot()
            mine, others = zip(*samples[1:], strict=True)
        row = Row(case.name, summary(mine), summary(others), bar_ms=case.bar_ms)
        missed += bool(case.bar_ms and (row.added_ms or 0.0) > case.bar_ms)
        report.add(row)
        if "behind" in case.name:
            report.figures["percent_of_snapshots_made_in_time"] = 100 * kept / len(samples)
    report.figures["bars_missed"] = missed
    bars = ", ".join(f"{case.name} {case.bar_ms:g}" for case in CASES if case.bar_ms)
    report.notes = (
        f"CPU time, {rounds} processes each, in turn with `python -I -S -c pass`",
        f"added is to be at most, in ms: {bars}",
    )
    return report


def main(argv: Sequence[str] | None = None) -> None:
    parser: argparse.ArgumentParser = argument_parser(__name__, __doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    parser.add_argument("--only", default="", metavar="WORDS", help="cases with this in their name")
    args = parser.parse_args(argv)
    show(measure(args.rounds, args.only), as_json=args.json)


if __name__ == "__main__":
    main()
