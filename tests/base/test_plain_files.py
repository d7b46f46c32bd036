"""A file that is opened is the one that was meant, whatever a program puts in its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from base.plain_files import open_plain, read_plain


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
