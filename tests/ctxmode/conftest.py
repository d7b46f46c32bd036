"""A store, a project on disk, and another process of the same interpreter."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from ctxmode.config.locations import Config
from kb import Store
from tests.ctxmode.projects import User


@pytest.fixture
def config(tmp_path):
    """A project with a page, a program, a secret, and a link that leads out."""
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    (project / "docs" / "guide.md").write_text("# Guide\n\n## Retries\n\nA retry waits.\n")
    (project / "app.py").write_text("def retry():\n    return 1\n")
    (project / "secret.txt").write_text("retry the password\n")
    (tmp_path / "outside.txt").write_text("outside\n")
    (project / "way-out").symlink_to(tmp_path / "outside.txt")
    return Config(project.resolve(), (tmp_path / "home").resolve(), tmp_path / "data")


@pytest.fixture
def started(tmp_path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program in an interpreter and with data of its own, and nothing to read."""

    def start(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, *arguments],
            check=False,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "CONTEXT_MODE_DIR": str(tmp_path / "data")},
            stdin=subprocess.DEVNULL,
        )

    return start


@pytest.fixture
def user(tmp_path, monkeypatch, capsys):
    """A user with several projects."""
    return User(tmp_path, monkeypatch, capsys)


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store.sqlite3") as opened:
        yield opened
