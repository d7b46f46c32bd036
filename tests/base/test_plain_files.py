"""A file that is opened is the one that was meant, whatever a program puts in its place; and a file
is replaced as a whole, or stays as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from base import plain_files
from base.plain_files import open_plain, read_json, read_plain, replace_file, write_json


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/file").write_text("content")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("secret")
    return folder


def test_a_file_below_the_root_is_opened(root: Path):
    with open_plain(root / "deep/file", root) as file:
        assert file.read() == b"content"


def test_a_folder_that_became_a_link_leads_nowhere(root: Path, tmp_path: Path):
    (root / "deep").rename(root / "was")
    (root / "deep").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match="points outside"):
        open_plain(root / "deep/file", root)


def test_a_fifo_is_not_waited_for(root: Path):
    os.mkfifo(root / "fifo")
    with pytest.raises(OSError, match="not a regular file"):
        open_plain(root / "fifo", root)


def test_links_inside_are_followed_only_where_that_is_asked_for(root: Path):
    (root / "link").symlink_to("deep/file")
    with open_plain(root / "link", root) as file:
        assert file.read() == b"content"
    with pytest.raises(OSError, match=os.strerror(40)):
        open_plain(root / "link", root, follow=False)


def test_what_is_read_as_a_whole_is_small_and_regular(root: Path):
    assert read_plain(root / "deep/file", 7) == b"content"
    with pytest.raises(OSError, match="larger"):
        read_plain(root / "deep/file", 6)
    (root / "endless").symlink_to("/dev/zero")
    os.mkfifo(root / "fifo")
    for name in ("endless", "fifo", "deep"):
        with pytest.raises(OSError, match="not a regular file"):
            read_plain(root / name, 7)


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

    monkeypatch.setattr(plain_files.os, "replace", refuse)
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
