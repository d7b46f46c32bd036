"""A real executor for a project of the test's own. Probes are shared by the tests of a worker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from executor import LocalEngine, Request, RequestError, Result, open_engine

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
    """Run a program and give its result."""

    async def run_one(language: str, code: str | None = None, **more: object) -> Result:
        completed = await executor.run(Request(language, code, **more))
        for spool in (completed.stdout_spool, completed.stderr_spool):
            if spool:
                spool.delete()
        return completed.result

    return run_one


@pytest.fixture
def run_or_skip(run: Run) -> Run:
    """The same; a language that this machine doesn't have is skipped."""

    async def run_one(language: str, code: str | None = None, **more: object) -> Result:
        try:
            return await run(language, code, **more)
        except RequestError as error:
            if "does not run here" not in error.message:
                raise
            pytest.skip(f"{error.message}; {error.hint}")

    return run_one
