"""A process knows which capabilities are in effect for it, and the mounts that it sees."""

from __future__ import annotations

import builtins
import io
from pathlib import Path

import pytest

from base import process
from base.process import mounts_below, read_mounts

STATUS = "Name:\tx\nUid:\t0\t0\t0\t0\nCapPrm:\t000001ffffffffff\nCapEff:\t{}\n"


@pytest.mark.parametrize(
    ("effective", "asked", "held"),
    [
        ("000001ffffffffff", (process.SYS_ADMIN, process.CHOWN), True),
        ("0000000000000000", (process.CHOWN,), False),  # root in a container
        ("00000000a80425fb", (process.CHOWN, process.SETUID), True),
        ("00000000a80425fb", (process.CHOWN, process.SYS_ADMIN), False),
        ("0000000000000001", (), True),
    ],
)
def test_all_that_is_asked_for_has_to_be_in_effect(monkeypatch, effective, asked, held):
    monkeypatch.setattr(builtins, "open", lambda *_, **__: io.StringIO(STATUS.format(effective)))
    assert process.holds(*asked) is held


def test_what_cannot_be_read_is_not_held(monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr(builtins, "open", fail)
    assert not process.holds(process.CHOWN)


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
    monkeypatch.setattr(process, "MOUNT_TABLE", table)
    assert mounts_below("/home/a b") == ["/home/a b/in\\side"]
    assert mounts_below("/home/a") == []


def test_the_kernels_own_table_has_a_root_and_proc():
    found = {path: kind for path, kind, _ in read_mounts()}
    assert "/" in found
    assert found["/proc"] == "proc"
