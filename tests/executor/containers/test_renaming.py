"""In a container, too, a folder that the run did not make is renamed."""

from __future__ import annotations

import json

import pytest

from executor import Status
from tests.executor.renames import ANSWERS, COUNT, IN_WORDS, names, plant

PROGRAMS = {
    "python": ("python", "import os; os.rename('src', 'lib')"),
    "mv": ("shell", "mv -T src lib"),
}


@pytest.mark.parametrize(("language", "code"), PROGRAMS.values(), ids=PROGRAMS)
async def test_programs_rename_folders(language, code, project, run):
    plant(project)
    moved = {path.replace("src/", "lib/", 1) for path in names(project)}
    result = await run(language, code)
    assert (result.status, result.stderr.text) == (Status.OK, "")
    assert {(file.path, file.change) for file in result.changed_files} == {
        ("src", "deleted"),
        *((path, "created") for path in moved),
    }


async def test_a_rename_answers_and_leaves_what_it_does_elsewhere(project, run):
    for number in range(COUNT):
        (project / str(number)).mkdir()
        plant(project / str(number))
    result = await run("python", IN_WORDS + ANSWERS)
    assert result.stderr.text == ""
    assert json.loads(result.stdout.text) == [COUNT, {}]


async def test_a_folder_with_a_covered_secret_stays_as_it_is(project, run):
    plant(project)
    (project / "src/inner/.env").write_text("KEY=hidden")
    code = "print(tried(lambda: os.rename('src', 'lib')), sorted(os.listdir()))"
    assert (await run("python", IN_WORDS + code)).stdout.text == "EBUSY ['src']\n"
