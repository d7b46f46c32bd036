"""A file is replaced as a whole, or stays as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from base import whole_files
from base.whole_files import read_json, replace_file, write_json


def test_a_file_is_replaced_with_the_mode_that_is_asked_for(tmp_path: Path):
    path = tmp_path / "file"
    replace_file(path, b"old")
    assert path.stat().st_mode & 0o777 == 0o600
    replace_file(path, b"new", mode=0o644)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o644
    assert os.listdir(tmp_path) == ["file"]


def test_what_cannot_be_put_in_place_leaves_the_file_and_nothing_beside_it(tmp_path, monkeypatch):
    path = tmp_path / "file"
    replace_file(path, b"old")

    def refuse(*_: object) -> None:
        raise OSError("refused")

    monkeypatch.setattr(whole_files.os, "replace", refuse)
    with pytest.raises(OSError, match="refused"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path):
    (tmp_path / "target").write_bytes(b"kept")
    (tmp_path / "link").symlink_to("target")
    replace_file(tmp_path / "link", b"new")
    assert (tmp_path / "target").read_bytes() == b"kept"
    assert not (tmp_path / "link").is_symlink()


def test_an_object_comes_back_from_a_folder_that_was_missing_and_is_its_owners(tmp_path: Path):
    path = tmp_path / "folder" / "file.json"
    write_json(path, {"a": [1, "é"]})
    assert read_json(path) == {"a": [1, "é"]}
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("content", [None, b"", b"{", b"[1]", b"\xff"])
def test_what_is_no_object_is_none(tmp_path: Path, content: bytes | None):
    path = tmp_path / "file.json"
    if content is not None:
        path.write_bytes(content)
    assert read_json(path) is None
