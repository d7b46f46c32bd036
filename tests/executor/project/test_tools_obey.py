"""Tools obey what a run could plant; of what a run does under `build` nothing gets that far."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from executor.project.rules.names import NAMES
from tests.executor.project.dangers import DATA, TOOLS, Danger, Data, write
from tests.needs import need

DEADLINE_S = 60


class Scene:
    """A project, the home of the person who works in it, and where a canary would lie."""

    def __init__(self, project: Path, beside: Path) -> None:
        self.project = project
        self.canary = beside / "canary"
        self.home = beside / "home"
        self.home.mkdir()

    def with_canary(self, script: str) -> str:
        return script.replace("CANARY", str(self.canary))

    def person(self, script: str) -> str:
        """Run a script as the person would; what it printed."""
        own = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            ["bash", "--norc", "-c", self.with_canary(script)],
            cwd=self.project,
            env=own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=DEADLINE_S,
            check=False,
        )
        return done.stdout


@pytest.fixture
def scene(project: Path, tmp_path: Path) -> Scene:
    return Scene(project, tmp_path)


def label(row: Danger | Data) -> str:
    return row.name if isinstance(row, Danger) else row.path


@pytest.mark.parametrize("danger", TOOLS, ids=label)
def test_the_tool_obeys_what_is_planted(scene: Scene, danger: Danger):
    need(danger.tool)
    scene.person(danger.prepare)
    scene.person(danger.use)
    assert not scene.canary.exists(), "it needs nothing planted"
    scene.person(danger.plant)
    said = scene.person(danger.use)
    assert scene.canary.exists(), said


@pytest.mark.parametrize("row", [*TOOLS, *DATA], ids=label)
def test_the_table_has_it(row: Danger | Data):
    found = NAMES.judge(row.path)
    assert found
    assert found.verdict is row.verdict


@pytest.mark.parametrize("danger", TOOLS, ids=label)
async def test_a_run_cannot_have_the_tool_obey(scene: Scene, run, danger: Danger):
    need(danger.tool)
    scene.person(danger.prepare)
    await plant(scene, run, danger.plant)
    said = scene.person(danger.use)
    assert not scene.canary.exists(), said


@pytest.mark.parametrize("data", DATA, ids=label)
def test_a_file_of_data_says_what_to_run(scene: Scene, data: Data):
    scene.person(write(data.path, data.text))
    obey(scene, data)
    assert scene.canary.exists()


@pytest.mark.parametrize("data", DATA, ids=label)
async def test_a_run_cannot_leave_a_file_that_says_what_to_run(scene: Scene, run, data: Data):
    await plant(scene, run, write(data.path, data.text))
    obey(scene, data)
    assert not scene.canary.exists()


async def plant(scene: Scene, run, script: str) -> None:
    """Have a program do it under `build`; what else it makes does arrive."""
    code = f"{scene.with_canary(script)}\necho landed > landed\n"
    await run("shell", code, profile="build")
    assert (scene.project / "landed").read_text() == "landed\n"


def obey(scene: Scene, data: Data) -> None:
    """Do what the tool would, if the file is there."""
    path = scene.project / data.path
    if path.is_file():
        for command in data.commands(path.read_text()):
            scene.person(command)
