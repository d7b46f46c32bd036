"""Whether the host was at work in a project, beside a commit or between two calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from executor.project.store.manifest import Change
from executor.project.view.record import take
from executor.project.view.search import ProjectSearch
from executor.project.view.tree import EntryState
from executor.request import ANALYZE
from executor.sessions.view import SessionView, differs_only_by
from tests.executor.project_layout import lay_out

COMMITTED = Change("new", "created", "file", 0o644, 4, 5_000)
STATE = EntryState(0o100644, 4, 5_000, 1, 1)
HOSTS = {
    "nothing": ({"new": STATE}, True),
    "another file": ({"new": STATE, "other": STATE}, False),
    "the same file's size": ({"new": STATE._replace(size=5)}, False),
    "the same file's time": ({"new": STATE._replace(mtime_ns=6_000)}, False),
    "the same file, deleted": ({}, False),
}


@pytest.mark.parametrize("host", HOSTS)
def test_only_what_a_commit_wrote_is_no_difference(host: str, tmp_path: Path):
    now, expected = HOSTS[host]
    before = take(tmp_path, ())
    after = replace(before, states=now)
    assert differs_only_by(before, after, [COMMITTED]) is expected


def test_a_renamed_file_is_as_it_was_committed(tmp_path: Path):
    before = replace(take(tmp_path, ()), states={"old": STATE})
    renamed = replace(COMMITTED, change="renamed", source="old")
    assert differs_only_by(before, replace(before, states={"new": STATE}), [renamed])
    others = {"new": STATE._replace(size=5)}
    assert not differs_only_by(before, replace(before, states=others), [renamed])


def test_what_is_hidden_now_is_a_difference(tmp_path: Path):
    before = take(tmp_path, ())
    assert not differs_only_by(before, replace(before, hidden=frozenset({".env"})), [])


EDITS: dict[str, tuple[Callable[[Path], object], bool]] = {
    "made": (lambda p: lay_out(p, "new.txt"), True),
    "removed": (lambda p: (p / "deep/er/it.txt").unlink(), True),
    "made among packages": (lambda p: lay_out(p, "node_modules/a/new.js"), True),
    "edited in place": (lambda p: (p / "deep/er/it.txt").write_text("more"), False),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_view_is_stale_once_a_folder_has_changed(project: Path, edit: str):
    lay_out(project, "deep/er/it.txt", "node_modules/a/package.json", "closed/it.txt")
    (project / "closed").chmod(0)  # as before at each look, though nobody can list it
    placement = SimpleNamespace(search=ProjectSearch(project))
    view = SessionView(SimpleNamespace(placement=placement), ANALYZE)
    act, is_stale = EDITS[edit]
    assert not view._has_changed()  # the first look
    assert not view._has_changed()
    act(project)
    assert view._has_changed() is is_stale
    assert not view._has_changed()
    (project / "closed").chmod(0o700)
