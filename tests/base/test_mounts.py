"""The kernel's table of mounts, read with what it escapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from base import mounts
from base.mounts import mounts_below, read_mounts

ROWS = r"""
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw,errors=remount-ro
22 21 0:5 / /proc rw,nosuid - proc proc rw
23 21 0:30 / /home/a\040b rw master:2 propagate_from:1 - fuse.sshfs host:/x rw,user_id=0
24 23 0:31 / /home/a\040b/in\134side rw - tmpfs tmpfs rw,size=1k
""".lstrip()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "mountinfo"
    path.write_text(ROWS)
    return path


def test_a_row_has_its_path_kind_and_options(table: Path):
    assert read_mounts(table) == [
        ("/", "ext4", ("rw", "errors=remount-ro")),
        ("/proc", "proc", ("rw",)),
        ("/home/a b", "fuse.sshfs", ("rw", "user_id=0")),
        ("/home/a b/in\\side", "tmpfs", ("rw", "size=1k")),
    ]


def test_mounts_inside_a_folder_are_neither_itself_nor_beside_it(table, monkeypatch):
    monkeypatch.setattr(mounts, "TABLE", table)
    assert mounts_below("/home/a b") == ["/home/a b/in\\side"]
    assert mounts_below("/home/a") == []


def test_the_kernels_own_table_has_a_root_and_proc():
    found = {path: kind for path, kind, _ in read_mounts()}
    assert "/" in found
    assert found["/proc"] == "proc"
