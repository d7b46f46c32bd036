from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from repomap.store import MapStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MapStore]:
    """A map that is still empty."""
    opened = MapStore(tmp_path / "map.sqlite3")
    yield opened
    opened.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty folder for a repository."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder.resolve()
