"""A project and a home for the verbs, and the verb `sessions` as a person calls it."""

from __future__ import annotations

import json

import pytest

from ctxmode import cli

HOSTS_FOLDERS = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "CONTEXT_MODE_PROJECT_DIR")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A project, and a home without settings beside it; the project's folder."""
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    for name in HOSTS_FOLDERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CONTEXT_MODE_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def ask(capsys):
    """Run one sub-verb; what it exits with, and what it prints."""

    def run(*words, code=0):
        assert cli.main(["sessions", *map(str, words)]) == code
        shown = capsys.readouterr()
        return json.loads(shown.out) if "--json" in words and code != 2 else shown.out + shown.err

    return run
