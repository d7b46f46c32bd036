"""Which projects a person's word covers, and what projects around them say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from policy import load
from policy.load import Disk


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    for name in ("src/mine/.git", "src/mine/sub", "src/mine/vendor/theirs/.git", "elsewhere"):
        (folder / name).mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    ("project", "folders", "expected"),
    [
        ("src/mine", ["~/src/mine"], True),
        ("src/mine", ["~/src"], True),
        ("src/mine", ["~/src/mine/"], True),
        ("src/mine", ["~/src/./mine/sub/.."], True),
        ("src/mine", ["~/src/min", "~/src/mine2", "~/SRC/mine"], False),
        ("src/mine", ["~/elsewhere"], False),
        ("src/mine", ["~/src/mine/sub"], False),
        ("elsewhere", ["~/src"], False),
        # What somebody else wrote lies in a trusted project: it has to be named itself.
        ("src/mine/vendor/theirs", ["~/src/mine"], False),
        ("src/mine/vendor/theirs", ["~/src"], False),
        ("src/mine/vendor/theirs", ["~/src/mine/vendor"], True),
        ("src/mine/vendor/theirs", ["~/src/mine/vendor/theirs"], True),
    ],
)
def test_trust_goes_as_far_as_it_was_given(
    home: Path, project: str, folders: list[str], expected: bool
) -> None:
    assert load.is_in_trusted(str(home / project), folders, str(home), Disk()) is expected


@pytest.mark.parametrize("target", [".", "..", "../..", "../mine"])
def test_a_project_can_not_lead_a_trusted_name_to_itself(home: Path, target: str) -> None:
    """A person trusts a part of it; a program in the whole exchanges that for a link."""
    part = home / "src/mine/sub"
    part.rmdir()
    part.symlink_to(target)
    project = str(home / "src/mine")
    assert not load.is_in_trusted(project, ["~/src/mine/sub"], str(home), Disk())
    assert load.is_in_trusted(project, ["~/src/mine"], str(home), Disk())  # the control


def test_a_link_in_a_trusted_folder_makes_nothing_trusted(home: Path) -> None:
    (home / "src/alias").symlink_to(home / "elsewhere")
    real = str((home / "src/alias").resolve())
    assert not load.is_in_trusted(real, ["~/src"], str(home), Disk())
    assert load.is_in_trusted(real, ["~/src/alias"], str(home), Disk())  # a person named it so


def test_the_projects_around_one_are_found_below_the_home_folder(home: Path) -> None:
    (home / ".git").mkdir()
    inner = home / "src/mine/vendor/theirs"
    assert load.outer_projects(str(inner), str(home), Disk()) == [str(home / "src/mine")]
    assert load.outer_projects(str(home / "src/mine"), str(home), Disk()) == []
    assert load.outer_projects(str(home), str(home), Disk()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="not applicable: only root can give files away")
def test_what_another_user_made_around_a_project_says_nothing_of_it(home: Path) -> None:
    inner = str(home / "src/mine/vendor/theirs")
    mark = home / "src/mine/.git"
    assert load.outer_projects(inner, str(home), Disk())  # the control
    os.chown(mark, 65431, 65431)
    assert load.outer_projects(inner, str(home), Disk()) == []
