"""Languages are proven by running, remembered by their files, and explained where they fail."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import runtimes
from executor import LanguageReport, LocalEngine, Request, RequestError, open_engine
from executor.engine.box import Layout, Order
from executor.model import Limits
from executor.run.execution import build_order

Open = partial[AbstractAsyncContextManager[LocalEngine]]
REMEMBERED_MS = 123_456.0


@pytest.fixture
def toolchains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A search path on which bash runs and ruby does not."""
    folder = tmp_path / "toolchains"
    folder.mkdir()
    shutil.copy("/bin/bash", folder)
    (folder / "ruby").write_text("#!/bin/sh\necho 'no version is installed' >&2\nexit 3\n")
    (folder / "ruby").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def opened(tmp_path: Path, project: Path) -> Open:
    (tmp_path / "home").mkdir()
    return partial(
        open_engine,
        project=project,
        state_dir=tmp_path / "state",
        rules=None,
        home=tmp_path / "home",
    )


async def reports(opened: Open) -> dict[str, LanguageReport]:
    async with opened() as executor:
        return dict(await executor.languages())


async def test_a_language_that_runs_is_told_by_what_and_how_fast(opened, toolchains: Path):
    shell = (await reports(opened))["shell"]
    assert shell.start_ms is not None
    assert shell.version is not None
    assert replace(shell, start_ms=None, version=None) == LanguageReport(
        "shell", runnable=True, path=str(toolchains / "bash"), toolchain="bash"
    )


async def test_present_is_not_runnable_and_the_reason_is_its_own(opened, toolchains: Path):
    ruby = (await reports(opened))["ruby"]
    assert (ruby.runnable, ruby.path) == (False, str(toolchains / "ruby"))
    assert "exit 3" in ruby.reason
    assert "no version is installed" in ruby.reason
    assert "ruby" in ruby.hint


async def test_what_a_project_does_to_interpreters_is_not_told_of_them(
    opened, toolchains: Path, project: Path
):
    hello = runtimes.language("ruby").hello_output
    (toolchains / "ruby").write_text(f"#!/bin/sh\ntest ! -e broken && echo '{hello.strip()}'\n")
    (project / "broken").touch()
    assert (await reports(opened))["ruby"].runnable


async def test_a_name_that_is_no_text_is_nothing_that_elixir_tells_of(run, project: Path):
    with open(os.fsencode(project) + b"/na\xefve", "xb"):
        pass
    result = await run("elixir", 'IO.puts(length(File.ls!(".")))')
    assert result.stdout.text.strip().isdigit()


async def test_what_is_not_there_has_a_reason_and_a_hint(opened, toolchains: Path):
    for name, report in (await reports(opened)).items():
        if name not in ("shell", "ruby"):
            assert not report.runnable
            assert report.reason.startswith("found no ")
            assert report.hint


async def test_a_program_in_a_language_that_does_not_run_is_refused_with_the_hint(
    opened, toolchains: Path
):
    async with opened() as executor:
        with pytest.raises(RequestError, match="ruby does not run here") as caught:
            await executor.run(Request("ruby", "puts 1"))
    assert "ruby" in caught.value.hint


def remember_a_time(cache: Path) -> None:
    """Changes what is remembered, so that a report shows whether it was."""
    kept = json.loads(cache.read_text())
    for answer in kept["answers"].values():
        answer["start_ms"] = answer["start_ms"] and REMEMBERED_MS
    cache.write_text(json.dumps(kept))


def move_machine(cache: Path, place: int) -> None:
    """Changes one part of the machine that the proofs hold for."""
    kept = json.loads(cache.read_text())
    kept["proven_on"][place] = "another"
    cache.write_text(json.dumps(kept))


def spoil(cache: Path) -> None:
    cache.write_text("{")


@pytest.mark.parametrize(
    ("between", "remembered"),
    [
        (lambda toolchains, cache: None, True),
        (lambda toolchains, cache: os.utime(toolchains / "bash", (1, 1)), False),
        (lambda toolchains, cache: move_machine(cache, 0), False),
        (lambda toolchains, cache: move_machine(cache, 1), False),
        (lambda toolchains, cache: move_machine(cache, 2), False),
        (lambda toolchains, cache: spoil(cache), False),
        (lambda toolchains, cache: cache.unlink(), False),
    ],
    ids=[
        "nothing happened",
        "the program changed",
        "another kernel",
        "the machine has started again",
        "another version of this program",
        "the memory is damaged",
        "it is gone",
    ],
)
async def test_a_second_start_remembers_until_a_file_changes(
    opened, toolchains: Path, tmp_path: Path, between, remembered
):
    first = (await reports(opened))["shell"]
    cache = tmp_path / "state" / "probes.json"
    remember_a_time(cache)
    between(toolchains, cache)
    second = (await reports(opened))["shell"]
    assert (second.start_ms == REMEMBERED_MS) is remembered
    assert replace(second, start_ms=None) == replace(first, start_ms=None)


async def test_a_refresh_proves_anew(opened, toolchains: Path, tmp_path: Path):
    await reports(opened)
    remember_a_time(tmp_path / "state" / "probes.json")
    async with opened() as executor:
        assert (await executor.languages())["shell"].start_ms == REMEMBERED_MS
        assert (await executor.languages(refresh=True))["shell"].start_ms != REMEMBERED_MS


def test_a_program_is_placed_with_the_whole_environment_that_it_will_see(toolchains: Path):
    (candidate,), _ = runtimes.discover(
        runtimes.language("shell"), [str(toolchains)], None, Path("/nowhere")
    )
    step = runtimes.Step(("/bin/bash", "/job/main.sh"), "run")
    program = runtimes.Program({"main.sh": b"true"}, (step,), {"A": "1", "B": "1"})
    job = build_order(
        program,
        candidate,
        Layout(),
        cwd="/srv/project",
        limits=Limits(),
        env={"B": "2", "HOME": "/mine"},
        stdin=b"in",
    )
    assert job == Order(
        steps=(step,),
        cwd="/srv/project",
        env={
            "PATH": f"{toolchains}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/mine",
            "TMPDIR": "/tmp",
            "USER": "sandbox",
            "LOGNAME": "sandbox",
            "SHELL": "/bin/sh",
            "TERM": "dumb",
            "GIT_CONFIG_NOSYSTEM": "1",
            "A": "1",
            "B": "2",
        },
        limits=Limits(),
        files={"/job/main.sh": b"true"},
        binds=candidate.binds,
        stdin=b"in",
        language="shell",
    )
