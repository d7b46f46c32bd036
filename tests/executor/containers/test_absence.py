"""Sockets, FIFOs and devices are absent from a view, in which all else looks as it did."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from executor.containers.host import is_special, leave_out


@pytest.fixture
def lower(tmp_path: Path) -> Path:
    folder = tmp_path / "lower"
    (folder / "a/b").mkdir(parents=True)
    os.mkfifo(folder / "a/b/pipe")
    os.mkfifo(folder / "pipe")
    (folder / "a/plain").touch()
    (folder / "link").symlink_to("pipe")
    (folder / "a/b").chmod(0o750)
    for name in ("a/b", "a"):
        os.utime(folder / name, ns=(1, 2))
    return folder


@pytest.mark.parametrize(
    ("name", "expected"),
    [("pipe", True), ("a/b/pipe", True), ("a", False), ("a/plain", False), ("link", False)],
)
def test_pipes_are_special_and_links_to_them_are_not(lower: Path, name: str, expected: bool):
    assert is_special(str(lower / name)) is expected


def test_what_is_not_there_is_not_special(lower: Path):
    assert not is_special(str(lower / "none"))


def test_what_is_left_out_is_marked_and_its_folders_look_as_before(lower: Path, tmp_path: Path):
    upper = tmp_path / "upper"
    upper.mkdir()
    leave_out(("a/b/pipe", "pipe"), lower, upper)
    for name in ("a/b/pipe", "pipe"):
        info = (upper / name).lstat()
        assert stat.S_ISCHR(info.st_mode)
        assert info.st_rdev == 0
    for name in ("a", "a/b"):
        found, wanted = (upper / name).lstat(), (lower / name).lstat()
        assert (found.st_mode, found.st_mtime_ns) == (wanted.st_mode, wanted.st_mtime_ns)
    assert not (upper / "a/plain").exists()
