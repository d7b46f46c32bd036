"""What a session in `build` sees of a project that the host changes while one of its calls runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from executor import Request, Result, Status

WAIT = "cat file none; {work} until grep -q go signal; do sleep 0.02; done"
WORK = {"that writes nothing": "", "that writes": "echo mine > made; echo new > src/main.c;"}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
async def test_what_the_host_replaces_during_a_call_is_seen_by_the_next(
    work, executor, project: Path
):
    (project / "file").write_text("old\n")
    (project / "signal").write_text("..\n")
    results: list[Result] = []

    async def call(code: str) -> Result:
        request = Request("shell", code, profile="build", session="s", timeout_s=60)
        results.append((await executor.run(request)).result)
        return results[-1]

    await call("true")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(call, WAIT.format(work=work))
        await trio.sleep(0.5)  # by then it has looked; if not, nothing is stale
        (project / "file.new").write_text("new\n")
        os.rename(project / "file.new", project / "file")
        (project / "none").write_text("born\n")
        with open(project / "signal", "r+") as signal:
            signal.write("go")
    assert results[-1].stdout.text == "old\n"
    assert (await call("cat file none")).stdout.text == "new\nborn\n"
    assert results[-1].status is Status.OK
    if work:
        assert (project / "made").read_text() == "mine\n"
