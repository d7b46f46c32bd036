"""A real executor for a project of the test's own. Probes are shared by the tests of a worker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from executor import LocalEngine, Request, Result, open_engine
from tests.needs import need

Run = Callable[..., Awaitable[Result]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture
async def executor(project: Path, state_dir: Path) -> AsyncIterator[LocalEngine]:
    async with open_engine(
        project=project, state_dir=state_dir, rules=None, home=Path.home()
    ) as opened:
        yield opened


@pytest.fixture
def run(executor: LocalEngine) -> Run:
    """Run a program and give its result; a test of a language that this machine lacks skips."""

    async def run_one(language: str, code: str | None = None, **more: object) -> Result:
        need(language)
        completed = await executor.run(Request(language, code, **more))
        for spool in (completed.stdout_spool, completed.stderr_spool):
            if spool:
                spool.unlink(missing_ok=True)
        return completed.result

    return run_one
