"""Which folders a server takes for a project that nobody named."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxmode.config.locations import Config
from ctxmode.errors import UsageError
from ctxmode.mcp import client


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "work"
    for name in ("a", "b"):
        (made / name).mkdir(parents=True)
        (made / name / "file").touch()
    (made / "up").symlink_to("/")
    return made


def check(folder: Path, *, is_given: bool = False) -> None:
    home = folder.parent / "home"
    config = Config(folder, home, folder.parent / "data", project_is_given=is_given)
    client.check_working_folder(config)


@pytest.mark.parametrize("mark", ["", ".git", ".ctxmode"])
def test_a_large_folder_is_a_project_if_it_is_marked_or_named(folder, mark, monkeypatch):
    check(folder)
    monkeypatch.setattr(client, "WORKING_ENTRIES_MAX", 4)
    if mark:
        (folder / mark).mkdir()
        check(folder)
    else:
        with pytest.raises(UsageError, match="over 4 entries"):
            check(folder)
    check(folder, is_given=True)
