"""Whatever lies in a file's place, reading it ends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from base.plain_files import read_head, read_plain

BYTES_MAX = 4096


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


MAKERS = [pipe, endless, own_input, folder, large]


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_no_small_regular_file_is_an_error(make, tmp_path: Path) -> None:
    make(tmp_path / "file")
    with pytest.raises(OSError, match=r"not a regular file|is larger than"):
        read_plain(str(tmp_path / "file"), BYTES_MAX)


@pytest.mark.parametrize("make", MAKERS[:-1])
def test_what_is_no_regular_file_has_no_first_bytes(make, tmp_path: Path) -> None:
    make(tmp_path / "file")
    with pytest.raises(OSError, match="not a regular file"):
        read_head(tmp_path / "file")


def test_the_first_bytes_are_those_of_a_larger_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    assert read_head(tmp_path / "file", 4) == b"0123"
    assert read_head(tmp_path / "file") == b"0123456789"


def test_the_text_of_a_file_comes_whole_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"abc\n" * 1000)
    (tmp_path / "link").symlink_to("text")
    assert read_plain(str(tmp_path / "link"), BYTES_MAX) == b"abc\n" * 1000
