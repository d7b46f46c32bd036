"""Whatever lies in a file's place, reading it ends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from policy.plain_text import BYTES_MAX, read_text


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def own_input(path: Path) -> None:
    path.symlink_to("/dev/stdin")


def folder(path: Path) -> None:
    path.mkdir()


def large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(BYTES_MAX + 1)


@pytest.mark.parametrize("make", [pipe, endless, own_input, folder, large])
def test_what_is_no_small_regular_file_is_an_error(make, tmp_path: Path) -> None:
    make(tmp_path / "file")
    with pytest.raises(OSError, match=r"not a regular file|is larger than"):
        read_text(str(tmp_path / "file"))


def test_the_text_of_a_file_comes_whole_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("né\n" * 1000)
    (tmp_path / "link").symlink_to("text")
    assert read_text(str(tmp_path / "link")) == "né\n" * 1000
