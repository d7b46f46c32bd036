"""A file that a run wrote is moved into the project if that is as good as a copy of it."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from executor.project.apply import staging
from executor.project.store.store import ChangeStore, commit_changes
from executor.project.view.comparison import FIRST, as_the_host_has_it, of_upper
from executor.project.view.record import begin
from executor.project.view.search import ProjectSearch
from tests.executor.project.viewing import FakeNames, PlainReader, left

TEXT = "of the run\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    return folder


@pytest.fixture
def upper(tmp_path: Path) -> Path:
    folder = tmp_path / "room" / FIRST
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "new").write_text(TEXT)
    return folder


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def committed(project: Path, upper: Path, *, may_move: bool = True) -> tuple[int, Path]:
    """The inode that was written, and where its content is by now."""
    written = (upper / "src" / "new").stat().st_ino
    record = begin(ProjectSearch(project))
    record.settle()
    with opened(upper) as descriptor:
        changes = replace(of_upper(os.dup(descriptor), record), may_move=may_move)
        store = ChangeStore(project.parent / "state")
        assert (
            left(
                commit_changes(
                    changes, FakeNames(), store, label="a run", read=PlainReader.of(project.parent)
                )
            )
            == {}
        )
        record.close()
        os.close(changes.contents)
    assert (project / "src" / "new").read_text() == TEXT
    return written, project / "src" / "new"


def test_a_file_is_moved_with_its_mode_and_time(project: Path, upper: Path):
    (upper / "src" / "new").chmod(0o750)
    os.utime(upper / "src" / "new", ns=(1, 1_600_000_000_000_000_001))
    os.setxattr(upper / "src" / "new", "user.tag", b"run")
    os.setxattr(upper / "src" / "new", "user.overlay.origin", b"")
    written, place = committed(project, upper)
    info = place.stat()
    assert info.st_ino == written
    assert stat.S_IMODE(info.st_mode) == 0o750
    assert info.st_mtime_ns == 1_600_000_000_000_000_001
    assert os.listxattr(place) == ["user.tag"]
    assert not (upper / "src" / "new").exists()


def test_what_someone_may_still_need_is_copied(project: Path, upper: Path):
    written, place = committed(project, upper, may_move=False)
    assert place.stat().st_ino != written
    assert (upper / "src" / "new").read_text() == TEXT


def test_what_is_left_out_stays_where_it_was(project: Path, upper: Path):
    """What someone else put there meanwhile stays, and the run's is kept for a person."""
    meant = staging.Preparing.prepare

    def prepare(self: staging.Preparing, *given: Any) -> Any:
        told = meant(self, *given)
        assert (upper / "src" / "new").stat().st_nlink == 2
        (project / "src" / "new").write_text("of the host\n")
        return told

    record = begin(ProjectSearch(project))
    record.settle()
    store = ChangeStore(project.parent / "state")
    with opened(upper) as descriptor, pytest.MonkeyPatch.context() as patch:
        patch.setattr(staging.Preparing, "prepare", prepare)
        changes = replace(of_upper(os.dup(descriptor), record), may_move=True)
        reader = PlainReader.of(project.parent)
        done = commit_changes(changes, FakeNames(), store, label="a run", read=reader)
        record.close()
        os.close(changes.contents)
    assert left(done) == {"src/new": "conflict"}
    assert (project / "src" / "new").read_text() == "of the host\n"
    assert (upper / "src" / "new").read_text() == TEXT
    assert os.listdir(project / "src") == ["new"]
    assert store.apply(done.id, names=FakeNames(), theirs=["src/new"]).left_out == ()
    assert (project / "src" / "new").read_text() == TEXT


def give_a_group(project: Path, upper: Path) -> None:
    (project / "src").chmod(0o2755)


def link_again(project: Path, upper: Path) -> None:
    os.link(upper / "src" / "new", upper.parent / "elsewhere")


def allow_others(project: Path, upper: Path) -> None:
    """An access list of version 2: the owner, the group, a group of number 1, a mask, others."""
    entries = [(1, 6, -1), (4, 4, -1), (8, 6, 1), (16, 6, -1), (32, 4, -1)]
    packed = b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(upper / "src" / "new", "system.posix_acl_access", b"\2\0\0\0" + packed)
    except OSError:
        pytest.skip("not applicable: this file system has no access lists")


ELSE = [give_a_group, link_again, allow_others]


@pytest.mark.parametrize("prepare", ELSE)
def test_what_a_copy_would_not_be_is_copied(project: Path, upper: Path, prepare: Callable):
    prepare(project, upper)
    written, place = committed(project, upper)
    assert place.stat().st_ino != written
    assert os.listxattr(place) == []
    assert place.stat().st_nlink == 1


def test_only_the_folder_that_was_handed_over_is_opened_anew(upper: Path):
    room = str(upper.parents[1])
    with opened(upper) as descriptor:
        again = as_the_host_has_it(descriptor, room)
        assert again is not None
        os.close(again)
        assert as_the_host_has_it(descriptor, f"{room}/none") is None
    with opened(upper / "src") as other:
        assert as_the_host_has_it(other, room) is None
