"""What every test may use: a place of its own, and never the user's home or data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_real_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the program reads or writes the real configuration or data."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("CONTEXT_MODE_DIR", raising=False)


@pytest.fixture
def require() -> bool:
    """Whether what is missing on this machine is a failure, not a skip (as in CI)."""
    return os.environ.get("CTXMODE_REQUIRE_ALL") == "1"
