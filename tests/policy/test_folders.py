"""Looking into folders, within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy import matching
from policy.matching import Folders


def test_the_nearest_files_come_first_and_links_are_files(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "deep").touch()
    (tmp_path / "near").touch()
    (tmp_path / "link").symlink_to("/etc")
    *near, deep = Folders().files_below(str(tmp_path))
    assert sorted(near) == [f"{tmp_path}/link", f"{tmp_path}/near"]
    assert deep == f"{tmp_path}/a/b/deep"


@pytest.mark.parametrize("name", [".git", "node_modules", ".venv"])
def test_what_tools_fill_is_passed_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "x").touch()
    assert Folders().files_below(str(tmp_path)) == ()


def test_no_more_than_some_entries_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        (tmp_path / str(number)).touch()
    monkeypatch.setattr(matching, "ENTRIES_MAX", 5)
    assert len(Folders().files_below(str(tmp_path))) == 5


def test_no_more_than_some_time_is_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").touch()
    monkeypatch.setattr(matching, "SECONDS_MAX", -1.0)
    assert Folders().files_below(str(tmp_path)) == ()


@pytest.mark.parametrize("path", ["/nowhere/at/all", "a\0b", "/etc/passwd"])
def test_what_is_no_folder_holds_no_files(path: str) -> None:
    assert Folders().files_below(path) == ()
