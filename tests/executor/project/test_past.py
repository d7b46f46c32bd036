"""What the host does to a file at any moment is never overwritten, however it hides that."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from base import process
from executor.project.apply import staging as steps
from executor.project.store.manifest import Commit
from executor.project.store.store import ChangeStore, commit_changes
from executor.project.view import record as records
from executor.project.view.comparison import of_upper
from executor.project.view.record import Record
from executor.project.view.search import ProjectSearch
from tests.executor.project.conftest import make_old
from tests.executor.project.viewing import FakeNames, PlainReader, left, tree

pytestmark = pytest.mark.view  # moments are the same for everyone

OF_HOST, OF_RUN, AT_FIRST = "host\n", "run\n!", "once\n"
PLACE = "src/it.txt"
ROUNDS = 3  # moments differ in where they lie between two ticks of the clock


def _set_back(path: Path, info: os.stat_result) -> None:
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns), follow_symlinks=False)


def _beside(path: Path) -> Path:
    """An older file of the host's, of the same size, mode and time."""
    other = path.with_name("other")
    other.write_text(OF_HOST)
    _set_back(other, path.lstat())
    return other


def edit_in_place(path: Path) -> None:
    info = path.stat()
    path.write_text(OF_HOST)
    _set_back(path, info)


def rename_over(path: Path) -> None:
    _beside(path).rename(path)


def copy_over(path: Path) -> None:
    shutil.copy2(_beside(path), path)


def touch(path: Path) -> None:
    os.utime(path, ns=(0, 0))


def link(path: Path) -> None:
    os.link(path, path.with_name("linked"))


def write_by_a_link(path: Path) -> None:
    info, other = path.stat(), path.with_name("linked")
    os.link(path, other)
    other.write_text(OF_HOST)
    _set_back(other, info)
    other.unlink()


def close_to_others(path: Path) -> None:
    path.chmod(0o600)


def label(path: Path) -> None:
    os.setxattr(path, "user.tag", b"host")


def delete(path: Path) -> None:
    path.unlink()


def make_anew(path: Path) -> None:
    info = path.stat()
    path.unlink()
    path.write_text(OF_HOST)
    _set_back(path, info)


def exchange_its_folder(path: Path) -> None:
    """With one that was there before, whose file is of the same size and time."""
    folder = path.parent
    folder.rename(folder.with_name("gone"))
    folder.with_name("twin").rename(folder)


def exchange_its_folder_and_go_on(path: Path) -> None:
    exchange_its_folder(path)
    (path.parent / "further").write_text("further")


def exchange_for_a_link(path: Path) -> None:
    folder = path.parent
    folder.rename(folder.with_name("gone"))
    folder.symlink_to("twin")


EDITS = [
    edit_in_place, rename_over, copy_over, touch, link, write_by_a_link, close_to_others, label,
    delete, make_anew, exchange_its_folder, exchange_its_folder_and_go_on, exchange_for_a_link,
]  # fmt: skip
# These leave what a commit may replace: it is there, and in a folder that is one.
LEAVE_IT = [edit for edit in EDITS if edit not in (delete, exchange_for_a_link)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A file that is years old, in one of two folders alike."""
    project = tmp_path / "project"
    for name, text in (("src", AT_FIRST), ("twin", OF_HOST)):
        (project / name).mkdir(parents=True)
        (project / name / "it.txt").write_text(text)
    make_old(project)
    return project / PLACE


def begin(path: Path) -> Record:
    record = records.begin(ProjectSearch(path.parents[1]))
    record.settle()
    return record


def commit_of_run(path: Path, record: Record, *, deletes: bool = False) -> Commit:
    """Commit an upper layer that writes to the file, or deletes it."""
    upper = path.parents[2] / "upper"
    shutil.rmtree(upper, ignore_errors=True)
    (upper / "src").mkdir(parents=True)
    if deletes:
        os.mknod(upper / PLACE, stat.S_IFCHR, 0)
    else:
        (upper / PLACE).write_text(OF_RUN)
    opened = os.open(upper, os.O_RDONLY)
    changes = replace(of_upper(opened, record), may_move=True)
    try:
        return commit_changes(
            changes,
            FakeNames(),
            ChangeStore(path.parents[2] / "state"),
            label="a run",
            read=PlainReader.of(path.parents[2]),
        )
    finally:
        record.close()
        os.close(changes.contents)


def seen(path: Path) -> dict[str, tuple[object, ...]]:
    return tree(path.parents[1], times=False)


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("number", range(ROUNDS))
def test_an_edit_right_after_the_start_is_a_conflict(place: Path, edit, number):
    record = begin(place)
    edit(place)
    before = seen(place)
    assert left(commit_of_run(place, record))[PLACE] == "conflict"
    assert seen(place) == before


@pytest.mark.parametrize("edit", LEAVE_IT)
@pytest.mark.parametrize("number", range(ROUNDS))
def test_an_edit_right_before_the_start_is_none(place: Path, edit, number):
    edit(place)
    assert left(commit_of_run(place, begin(place))) == {}
    assert place.read_text() == OF_RUN


@pytest.mark.parametrize("edit", LEAVE_IT)
def test_what_was_edited_after_the_start_is_not_deleted(place: Path, edit):
    if os.geteuid() != 0:
        pytest.skip("not applicable: only root makes what an overlay marks a deletion by")
    record = begin(place)
    edit(place)
    before = seen(place)
    assert left(commit_of_run(place, record, deletes=True))[PLACE] == "conflict"
    assert seen(place) == before


def test_what_the_host_made_after_the_start_is_not_overwritten(place: Path):
    place.unlink()
    record = begin(place)
    place.write_text(OF_HOST)
    assert left(commit_of_run(place, record)) == {PLACE: "conflict"}
    assert place.read_text() == OF_HOST


def test_what_others_do_to_a_folder_is_no_conflict(place: Path):
    record = begin(place)
    (place.parent / "more").write_text("more")
    (place.parents[1] / "more").write_text("more")
    assert left(commit_of_run(place, record)) == {}
    assert place.read_text() == OF_RUN


@contextmanager
def edit_at(number: int, edit: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> Iterator:
    """Edit between two steps of a commit; tells how many steps there were."""
    met: list[int] = []

    def step() -> None:
        if len(met) == number:
            edit()
        met.append(number)

    with monkeypatch.context() as patch:
        patch.setattr(steps, "step", step)
        yield met


@pytest.mark.parametrize("edit", [edit_in_place, rename_over, copy_over, make_anew, delete])
def test_an_edit_between_any_two_steps_of_a_commit_stays(place: Path, edit, monkeypatch):
    number, count = 0, 1
    while number < count:
        place.unlink(missing_ok=True)
        place.write_text(AT_FIRST)
        record = begin(place)
        with edit_at(number, lambda: edit(place), monkeypatch) as met:
            outcome = commit_of_run(place, record)
        if outcome.id:  # what was moved into the project, and put back, still waits for a person
            kept = place.parents[2] / "state" / "kept" / outcome.id / "contents" / PLACE
            assert kept.read_text() == OF_RUN
        else:
            assert PLACE not in left(outcome)
        found = place.read_text() if place.exists() else ""
        assert found == ("" if edit is delete else OF_HOST), number
        number, count = number + 1, len(met)
    assert count > 3


def test_a_clock_that_was_set_back_makes_everything_a_conflict(place: Path, monkeypatch):
    record = begin(place)
    back_ns = 3_600_000_000_000
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() - back_ns)
    assert left(commit_of_run(place, record))[PLACE] == "conflict"


def test_without_a_wait_for_the_clock_everything_is_a_conflict(place: Path):
    record = records.begin(ProjectSearch(place.parents[1]))
    assert left(commit_of_run(place, record))[PLACE] == "conflict"


STAMPS = {
    "before": (-1, True),
    "at it": (0, True),
    "after": (1, False),
}


@pytest.mark.parametrize(("away_ns", "is_told"), STAMPS.values(), ids=STAMPS.keys())
def test_a_stamp_is_held_against_the_moment(away_ns, is_told):
    moment = records.Moment()
    moment.ns = 1_600_000_000_123_456_789
    assert moment.is_after(moment.ns + away_ns) is is_told


@pytest.mark.parametrize("grain_ns", [1_000_000_000, 10_000_000, 100])
def test_a_rounded_stamp_stands_for_all_that_are_rounded_to_it(grain_ns):
    moment = records.Moment()
    moment.ns = 1_600_000_000_123_456_789
    rounded = moment.ns - moment.ns % grain_ns
    assert not moment.is_after(rounded)
    assert moment.is_after(rounded - grain_ns)


def test_folders_that_did_not_change_are_not_listed_again(place: Path, monkeypatch):
    project, search = str(place.parents[1]), ProjectSearch(place.parents[1])
    # As if all of it were two seconds old, which no program can make it.
    with monkeypatch.context() as patch:
        now = time.time_ns
        patch.setattr(time, "time_ns", lambda: now() + 3_000_000_000)
        first = search.look(everywhere=True)
    (place.parents[1] / "twin" / "new").write_text("new")
    listed = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (listed.append(path), scan(path))[1])
    again = search.look(everywhere=True)
    assert listed == [f"{project}/twin"]
    assert again.folders.keys() == first.folders.keys()
    assert sorted(again.folders["twin"].kinds) == ["it.txt", "new"]


def test_what_is_neither_file_folder_nor_link_is_told_of(place: Path):
    os.mkfifo(place.parent / "pipe")
    assert "src/pipe" in begin(place).hidden


MOUNTS = """\
22 1 8:1 / / rw - ext4 /dev/a rw
23 22 8:2 / /home rw shared:1 - nfs4 server:/ rw
24 23 8:3 / /home/a\\040b rw - xfs /dev/b rw
25 24 8:4 / /home/a\\040b rw - fuse.sshfs there rw
26 22 8:5 / /homely rw master:2 - btrfs /dev/c rw
"""
TRUST = {"/srv": True, "/home/x": False, "/home/a b": False, "/homely/x": True, "/home": False}


@pytest.mark.parametrize(("project", "is_trusted"), TRUST.items(), ids=TRUST.keys())
def test_only_file_systems_of_this_machine_are_trusted(project, is_trusted, tmp_path, monkeypatch):
    (tmp_path / "mountinfo").write_text(MOUNTS)
    monkeypatch.setattr(process, "MOUNT_TABLE", tmp_path / "mountinfo")
    info = tmp_path.lstat()
    monkeypatch.setattr(os, "stat", lambda _: info)
    assert records.is_trusted(project) is is_trusted
