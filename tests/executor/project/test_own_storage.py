"""What the server keeps for itself is out of every program's reach, even inside the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor import Request, Settings, open_engine
from executor.project.view.search import ProjectSearch
from tests.executor.project_layout import lay_out

CODE = """
for name in {names!r}:
    try:
        print(name, open(name + "/kept").read())
    except OSError as error:
        print(name, type(error).__name__)
    for file in ("kept", "new"):
        try:
            open(name + "/" + file, "w").write("evil")
        except OSError:
            pass
"""


@pytest.mark.parametrize("profile", ["analyze", "build"])
async def test_a_program_neither_reads_nor_changes_it(tmp_path: Path, profile: str):
    project = tmp_path / "home"
    own, state, beside = ".local/own", ".local/own/state", "data/beside"
    for folder in (state, own, beside):
        (project / folder).mkdir(parents=True, exist_ok=True)
        (project / folder / "kept").write_text("mine")
    settings = Settings(storage=project / own)
    async with open_engine(
        project=project, state_dir=project / state, rules=None, home=tmp_path, settings=settings
    ) as executor:
        code = CODE.format(names=[own, state, beside])
        result = (await executor.run(Request("python", code, profile=profile))).result
    seen = result.stdout.head.split("\n")
    assert seen[2] == f"{beside} mine"  # the control
    assert "mine" not in seen[0] + seen[1]
    assert (project / own / "kept").read_text() == (project / state / "kept").read_text() == "mine"
    assert not (project / own / "new").exists()
    assert not (project / state / "new").exists()
    assert (project / beside / "kept").read_text() == ("evil" if profile == "build" else "mine")


def test_only_what_lies_in_the_project_is_hidden(project: Path, tmp_path: Path):
    lay_out(project, "own/file", "other/file")
    (tmp_path / "link").symlink_to(project / "own")
    search = ProjectSearch(project)
    search.hide([project, tmp_path, tmp_path / "elsewhere"])
    assert search.look().secrets == ()
    search.hide([tmp_path / "link"])
    assert search.look().secrets == ("own",)
