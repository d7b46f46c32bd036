"""Every language of the table in its image: hello, a failure, text and a bound file."""

from __future__ import annotations

from pathlib import Path

import pytest

import runtimes
from executor import LocalEngine, Request, Result, Settings, Status, open_engine
from images.groups import GROUPS
from tests.executor.containers.conftest import why_not
from tests.executor.test_languages import COUNT_LINES, FAIL, SHOWS_TEXT
from tests.samples import UNICODE

pytestmark = pytest.mark.xdist_group("containers")


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
async def test_a_language_runs_as_it_does_in_a_cell(group, project: Path, state_dir: Path):
    """One test an image, so that each toolchain is proven just once; a container for each run."""
    if reason := why_not(*group.languages):
        pytest.skip(reason)
    (project / "data.txt").write_text("".join(f"line {n} — ü\n" for n in range(500)))
    settings = Settings(isolation="container", concurrency=2)
    wrong: list[str] = []
    async with open_engine(
        project=project, state_dir=state_dir, rules=None, home=Path.home(), settings=settings
    ) as executor:
        for name in group.languages:
            found = await _of(executor, runtimes.language(name))
            wrong += [f"{name}: {one}" for one in found]
    assert not wrong, "\n".join(wrong)


async def _of(executor: LocalEngine, row: runtimes.Language) -> list[str]:
    """What is not as it should be."""
    wrong = []

    async def run(code: str, **more: object) -> Result:
        return (await executor.run(Request(row.name, code, **more))).result

    hello = await run(row.hello)
    if (hello.status, hello.stdout.text) != (Status.OK, row.hello_output):
        wrong.append(f"hello {hello.status} {hello.stderr.text or hello.message}")
    failed = await run(FAIL[row.name])
    if (failed.exit_code, failed.phase) != (3, "run") or "to stderr" not in failed.stderr.text:
        wrong.append(f"failure {failed.status} {failed.exit_code} {failed.stderr.text}")
    text = await run(SHOWS_TEXT[row.name])
    if text.stdout.text != f"{UNICODE}\n":
        wrong.append(f"text {text.stdout.text!r} {text.stderr.text}")
    counted = await run(COUNT_LINES[row.name], bind_file="data.txt")
    if counted.stdout.text.split() != ["500"]:
        wrong.append(f"bound file {counted.stdout.text!r} {counted.stderr.text}")
    return wrong
