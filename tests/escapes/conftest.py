"""The arena of each attack, and the record of what came of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from executor import Settings
from executor.request import PROFILES
from tests.escapes.arena import Arena, open_arena
from tests.escapes.attack import Attack
from tests.escapes.obeyed import LIVE


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--matrix", help="add what came of every attack to this JSON file")
    parser.addoption("--isolation", default="auto", help="auto or container")
    parser.addoption("--runtime", default="", help="of containers: runc, runsc …")


@pytest.fixture(scope="session")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="session")
def settings(request: pytest.FixtureRequest) -> Settings:
    """Of every server under attack."""
    option = request.config.getoption
    profiles = {**PROFILES, LIVE.name: LIVE}
    return Settings(isolation=option("--isolation"), runtime=option("--runtime"), profiles=profiles)


@pytest.fixture
def attack() -> Attack | None:
    """The row under test; a test that is not of the table has none."""
    return None


@pytest.fixture
async def arena(
    tmp_path: Path, state_dir: Path, attack: Attack | None, settings: Settings
) -> AsyncIterator[Arena]:
    async with open_arena(tmp_path, state_dir, attack.env if attack else {}, settings) as opened:
        yield opened


class Matrix:
    """Collects what the tests recorded, from every worker."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._rows: list[dict[str, object]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            for name, row in report.user_properties:
                if name == "attack":
                    self._rows.append(row | {"proven": report.passed or report.skipped})

    def pytest_sessionfinish(self) -> None:
        rows = json.loads(self._file.read_text()) if self._file.exists() else []
        new = {(row["id"], row["column"]) for row in self._rows}
        rows = [row for row in rows if (row["id"], row["column"]) not in new]
        self._file.write_text(json.dumps(rows + self._rows, indent=1))


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("matrix", default=None)
    if file and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Matrix(Path(file)))
