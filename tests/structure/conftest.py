"""The sources under examination."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = (
    *("base", "ctxmode", "executor", "fleet", "memory", "repomap"),
    *("policy", "kb", "runtimes", "images"),
)
PROGRAMS = ("bind.", "hello.", "trial.")  # of languages' folders: programs of users, and parts


def read_modules(*rooms: str) -> dict[str, str]:
    """Return the text of every source module of rooms, by its path in the checkout."""
    found = sorted(path for room in rooms for path in (ROOT / room).rglob("*.py"))
    return {
        str(path.relative_to(ROOT)): path.read_text()
        for path in found
        if not (path.name.startswith(PROGRAMS) and path.match("languages/*/*"))
    }


@pytest.fixture(scope="session")
def modules() -> dict[str, str]:
    """The text of every source module of every room, by its path in the checkout."""
    return read_modules(*ROOMS)


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return ROOT
