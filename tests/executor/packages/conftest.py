"""An executor whose packages come from a registry of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from executor import Caller, LocalEngine, Request, Result, Settings, open_engine
from executor.instance.lock import remove
from executor.packages.model import PackageSettings, Registry
from tests.executor.packages.python_index import Index
from tests.executor.packages.served import Served, serve
from tests.needs import need, need_packages

Open = Callable[..., AbstractAsyncContextManager[LocalEngine]]


@pytest.fixture
def served() -> Iterator[Served]:
    with serve() as server:
        yield server


@pytest.fixture
def index(served: Served) -> Index:
    return Index(served)


@pytest.fixture
def kept(state_dir: Path) -> Path:
    """Where layers are kept: nothing is yet."""
    folder = state_dir / "packages"
    remove(folder)
    return folder


@pytest.fixture
def open_with(project: Path, state_dir: Path, kept: Path) -> Open:
    """Open an executor with settings of packages."""

    @asynccontextmanager
    async def opened(**given: object) -> AsyncIterator[LocalEngine]:
        for name in given.get("allow", ()):
            need_packages(name)
        settings = Settings(packages=PackageSettings(**given))
        async with open_engine(
            project=project, state_dir=state_dir, rules=None, home=Path.home(), settings=settings
        ) as engine:
            yield engine

    return opened


@pytest.fixture
async def engine(open_with: Open, index: Index) -> AsyncIterator[LocalEngine]:
    """One that fetches Python's packages from the test's index without asking."""
    registry = Registry(index.url, private=True)
    async with open_with(allow=frozenset({"python"}), registries={"python": registry}) as opened:
        yield opened


async def run_in(
    engine: LocalEngine,
    language: str,
    code: str,
    *packages: str,
    caller: Caller | None = None,
    **more: object,
) -> Result:
    """One program with packages, and its result."""
    need(language)
    request = Request(language, code, packages=packages, **more)
    completed = await engine.run(request, caller=caller)
    for spool in (completed.stdout_spool, completed.stderr_spool):
        if spool:
            spool.unlink(missing_ok=True)
    return completed.result


def left(kept: Path) -> list[str]:
    """What is there of layers, half-made ones too, and of phases' archives."""
    spools = kept.parent / "spool"
    layers = kept / "layers"
    found = list(layers.iterdir()) if layers.exists() else []
    return sorted(str(path) for path in (*found, *spools.glob("*/*")))
