"""What is remembered of a live project: its files, and what git would take for repositories."""

from __future__ import annotations

from pathlib import Path

from executor.spawner import changes
from tests.executor.project_layout import lay_out


def test_repositories_are_seen_in_every_form(project: Path):
    lay_out(project, "a/.git/HEAD", "a/.git/objects/", "b/.git", "c/HEAD", "c/objects/")
    lay_out(project, "d/e/HEAD", "d/e/commondir", "f/HEAD", "g/objects/", "g/config")
    seen = changes.look(str(project)).repositories
    assert seen == {"a/.git", "b/.git", "c/HEAD", "d/e/HEAD"}


def test_repositories_are_seen_in_a_project_too_large_to_remember(project: Path, monkeypatch):
    lay_out(project, "a/1", "a/2", "a/3", "z/.git/HEAD")
    monkeypatch.setattr(changes, "SNAPSHOT_ENTRIES_MAX", 2)
    state = changes.look(str(project))
    assert state.files is None
    assert state.repositories == {"z/.git"}
