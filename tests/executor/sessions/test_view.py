"""Whether the host was at work in a project beside a commit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from executor.project.store.manifest import Change
from executor.project.view.record import EntryState, take
from executor.sessions.view import differs_only_by

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
