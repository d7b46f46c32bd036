"""What a run changed, read off the layers of its view, and off a live project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from executor.spawner import changes
from executor.spawner.view import FOLDER, OPAQUE
from tests.executor.project_layout import lay_out


@pytest.fixture
def layers(tmp_path: Path) -> tuple[Path, Path]:
    upper, lower = tmp_path / "upper", tmp_path / "lower"
    upper.mkdir()
    lower.mkdir()
    return upper, lower


def listed(layers: tuple[Path, Path], before: changes.Snapshot | None = None) -> list[str]:
    upper, lower = (os.open(layer, FOLDER) for layer in layers)
    try:
        found = changes.of_overlay(upper, lower, before or {})
    finally:
        os.close(upper)
        os.close(lower)
    return [f"{change} {path}" for path, change, _ in found.listed]


def test_entries_of_the_upper_layer_are_told_by_what_was_there(layers):
    upper, lower = layers
    lay_out(lower, "old.txt", "folder/kept.txt")
    lay_out(upper, "old.txt", "folder/new.txt", "made/new.txt")
    assert listed(layers) == [
        "created folder/new.txt",
        "created made/",
        "created made/new.txt",
        "modified old.txt",
    ]


def test_a_folder_that_was_made_anew_has_lost_what_was_in_it(layers):
    upper, lower = layers
    lay_out(lower, "d/a", "d/sub/b")
    lay_out(upper, "d/new")
    os.setxattr(upper / "d", OPAQUE[0], b"y")
    assert listed(layers) == ["deleted d/a", "created d/new", "deleted d/sub"]


def test_what_was_there_before_a_call_is_not_told_again(layers):
    upper, _ = layers
    lay_out(upper, "first.txt", "second.txt")
    fd = os.open(upper, FOLDER)
    before = changes.look(fd)
    os.close(fd)
    (upper / "second.txt").write_text("more")
    assert listed(layers, before) == ["created second.txt"]


def test_a_project_too_large_to_remember_counts_as_one_change_left_out(project, monkeypatch):
    lay_out(project, "a/1", "a/2", "a/3")
    monkeypatch.setattr(changes, "SNAPSHOT_ENTRIES_MAX", 2)
    fd = os.open(project, FOLDER)
    assert changes.look(fd) is None
    os.close(fd)
    assert changes.between(None, {}).omitted == 1
