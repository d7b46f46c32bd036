"""Removing what a program left, whatever it did to be in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from executor.instance.lock import remove


def nest(folder: Path) -> None:
    here = os.getcwd()
    os.chdir(folder)
    try:
        for _ in range(3000):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(here)


def lock(folder: Path) -> None:
    (folder / "locked" / "inner").mkdir(parents=True)
    (folder / "locked").chmod(0)


def strange(folder: Path) -> None:
    for name in ("-rf", "new\nline", "\x1b[31m", "*"):
        (folder / name).touch()
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to("/etc")


def nothing(folder: Path) -> None:
    assert folder.is_dir()


@pytest.mark.parametrize("fill", [nest, lock, strange, nothing])
def test_a_folder_is_removed_whatever_is_in_it(fill, tmp_path: Path):
    folder, beside = tmp_path / "folder", tmp_path / "beside"
    folder.mkdir()
    beside.mkdir()
    fill(folder)
    remove(folder)
    assert list(tmp_path.iterdir()) == [beside]


def test_what_is_not_there_needs_no_removing(tmp_path: Path):
    remove(tmp_path / "nothing")
