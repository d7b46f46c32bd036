"""A project of the test's own, and what it takes to look at it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from executor.project.view.search import ProjectSearch
from fleet.snapshot import Snapshot, take
from fleet.upload_filter import Terms

Take = Callable[..., Snapshot]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def snap(project: Path) -> Take:
    """Take a snapshot of the project, knowing nothing unless it is given."""

    def take_one(known: dict | None = None, **terms: object) -> Snapshot:
        return take(ProjectSearch(project), Terms(**terms), {} if known is None else known)

    return take_one
