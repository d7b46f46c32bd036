"""Several projects of one user, each with transcripts of Claude Code's that were read."""

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ctxmode import cli
from ctxmode.config.locations import Config, load_config
from tests.memory.sessions.claude_records import Maker

MODEL = "claude-x"


class User:
    """A home with projects in it, and the program in this process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
        self.home, self._monkeypatch, self._capsys = folder / "home", monkeypatch, capsys
        self._tracked = 0
        self.home.mkdir()
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("CONTEXT_MODE_DIR", str(folder / "data"))
        monkeypatch.delenv("CONTEXT_MODE_PROJECT_DIR", raising=False)

    def project(self, name: str) -> Path:
        folder = self.home / "work" / name
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        return folder

    def config(self, name: str) -> Config:
        return load_config(str(self.project(name)))

    def write_settings(self, text: str) -> Path:
        path = self.home / ".config" / "ctxmode" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def track(self, name: str, session: str, *steps) -> Path:
        """Write a session's transcript and read it. Each step is given a maker of records, and
        yields one or several."""
        project = self.project(name)
        maker = Maker(session, prefix=f"{session}-")
        records = []
        for step in steps:
            made = step(maker)
            records += made if isinstance(made, list) else [made]
        self._tracked += 1
        begun = time.time() - 600 + 10 * self._tracked  # each later than the one before
        for number, record in enumerate(records):
            record["cwd"] = str(project)
            record["timestamp"] = datetime.fromtimestamp(begun + number / 10, UTC).isoformat()
        folder = re.sub(r"[^A-Za-z0-9]", "-", str(project))
        path = self.home / ".claude" / "projects" / folder / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        self.ask(name, "sessions", "track")
        return path

    def ask(self, name: str, *words: str, code: int = 0):
        """Run a verb in a project; what it prints, as data where that is JSON."""
        self._monkeypatch.chdir(self.project(name))
        assert cli.main([*words]) == code
        shown = self._capsys.readouterr()
        self.said = shown.err
        return json.loads(shown.out) if "--json" in words and not code else shown.out + shown.err


def prompt(text: str):
    return lambda maker: maker.prompt(text)


def answer(text: str, **usage: int):
    """A response, with tokens as `input_tokens=1`."""
    return lambda maker: maker.answer(text, usage=usage or None)


def call(tool: str, number: int, given, *, failed: bool = False, **usage: int):
    return lambda maker: [
        maker.call(tool, number, given, usage=usage or None),
        maker.result(number, failed=failed),
    ]


def compaction(summary: str, before: int = 1000):
    return lambda maker: maker.compaction(summary, before)
