"""The sources under examination."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRIAL_PROGRAMS = ROOT / "ctxmode" / "trial" / "programs"  # data, in sixteen languages


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with the argument `module` runs for every source module of every room."""
    if "module" in metafunc.fixturenames:
        rooms = ("ctxmode", "executor", "policy", "kb", "runtimes", "images")
        found = sorted(path for room in rooms for path in (ROOT / room).rglob("*.py"))
        modules = [path for path in found if path.parent != TRIAL_PROGRAMS]
        metafunc.parametrize("module", modules, ids=[str(m.relative_to(ROOT)) for m in modules])


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return ROOT
