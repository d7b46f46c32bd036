"""A run that found a program waiting for it is no other run than one that found nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from executor import Executor, Request, RequestError, Result, Settings, open_executor
from tests.executor.warm_programs import PROGRAMS, PROJECT

WAIT_S_MAX = 120
TRIES = 8

pytestmark = pytest.mark.tier_a


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name, text in PROJECT.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.fixture
def node_alone(request: pytest.FixtureRequest, monkeypatch, tmp_path: Path) -> None:
    """Where another engine of JavaScript would be taken, which needs no warming up, node is."""
    if request.getfixturevalue("language") not in ("javascript", "typescript"):
        return
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("node", "tsx"):
        if found := shutil.which(name):
            (folder / name).symlink_to(os.path.realpath(found))
    monkeypatch.setenv("PATH", str(folder))


@pytest.fixture
async def both(
    project: Path, state_dir: Path, node_alone: None
) -> AsyncIterator[tuple[Executor, Executor]]:
    """An executor where nothing waits, and one where something does."""
    terms = {"project": project, "state_dir": state_dir, "rules": None, "home": Path.home()}
    async with (
        open_executor(**terms, settings=Settings(warm=False)) as cold,
        open_executor(**terms) as warm,
    ):
        yield cold, warm


async def run(executor: Executor, request: Request) -> Result:
    return (await executor.run(request)).result


async def run_warm(executor: Executor, request: Request) -> Result:
    """The result of a run for which something had waited."""
    with trio.fail_after(WAIT_S_MAX):
        for _ in range(TRIES):
            before = sum(pool.hits for pool in executor.pools)
            result = await run(executor, request)
            if sum(pool.hits for pool in executor.pools) > before:
                return result
            await until_something_waits(executor)
    raise AssertionError(f"nothing waits: {executor.pools}")


async def until_something_waits(executor: Executor) -> None:
    """For a run of the kind that came last, if there are to be any."""
    for _ in range(400):
        latest = executor.pools[0]
        assert not latest.trouble, latest
        if latest.waiting:
            return
        await trio.sleep(0.02)


def requests(language: str) -> list[tuple[str, Request]]:
    extra = {
        "input": {"stdin": b"a line\nand another\n"},
        "arguments": {"args": ("a b", "--flag", "é")},
        "bound file": {"bind_file": "numbers.txt"},
    }
    return [
        (title, Request(language, code, **extra.get(title, {})))
        for title, code in PROGRAMS[language].items()
    ]


def told(result: Result) -> Result:
    """All but what it took and where it ran."""
    return replace(result, usage=None)


@pytest.mark.parametrize("language", PROGRAMS)
async def test_a_warm_run_is_told_from_a_cold_one_by_nothing(language, both):
    cold, warm = both
    different = {}
    for title, request in requests(language):
        try:
            expected = told(await run(cold, request))
        except RequestError as error:
            if "does not run here" not in error.message:
                raise
            pytest.skip(f"{error.message}; {error.hint}")
        found = told(await run_warm(warm, request))
        if found != expected:
            different[title] = (expected, found)
    assert not different, "\n\n".join(
        f"{title}\n- {shown(a)}\n+ {shown(b)}" for title, (a, b) in different.items()
    )


def shown(result: Result) -> str:
    return f"{result.status} {result.message} {result.stdout.text}{result.stderr.text}"
