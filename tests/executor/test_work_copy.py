"""Building on a copy (tier B): what the run changed arrives, and nothing else is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from executor import RequestError, Status, work_copy
from executor.model import ChangedFile
from executor.project_search import ProjectSearch


@pytest.fixture
def copied(tmp_path: Path) -> work_copy.WorkCopy:
    project, folder = tmp_path / "project", tmp_path / "copy"
    (project / "src").mkdir(parents=True)
    folder.mkdir()
    (project / "src" / "a.txt").write_text("a\n")
    (project / "b.txt").write_text("b\n")
    (project / ".env").write_text("SECRET\n")
    (project / "link").symlink_to("b.txt")
    return work_copy.make(ProjectSearch(project), folder, (os.geteuid(), os.getegid()))


def test_a_file_that_a_secret_name_leads_to_is_not_copied(tmp_path: Path):
    project, folder = tmp_path / "project", tmp_path / "copy"
    project.mkdir()
    folder.mkdir()
    (project / "production").write_text("SECRET\n")
    (project / ".env").symlink_to("production")
    work_copy.make(ProjectSearch(project), folder, (os.geteuid(), os.getegid()))
    assert list(folder.iterdir()) == []


def test_secrets_are_not_copied(copied):
    assert not (copied.folder / ".env").exists()
    assert (copied.folder / "link").readlink() == Path("b.txt")


def test_changes_arrive_and_are_listed(copied):
    (copied.folder / "src" / "a.txt").write_text("changed\n")
    (copied.folder / "b.txt").unlink()
    (copied.folder / "new").mkdir()
    (copied.folder / "new" / "c.txt").write_text("c\n")
    commit = copied.commit()
    assert commit.changed == (
        ChangedFile("b.txt", "deleted"),
        ChangedFile("new/", "created"),
        ChangedFile("new/c.txt", "created", 2),
        ChangedFile("src/a.txt", "modified", 8),
    )
    assert (copied.project / "src" / "a.txt").read_text() == "changed\n"
    assert (copied.project / "new" / "c.txt").read_text() == "c\n"
    assert not (copied.project / "b.txt").exists()
    assert (copied.project / ".env").read_text() == "SECRET\n"


def test_a_removed_folder_goes_with_all_that_was_in_it(copied):
    (copied.folder / "src" / "a.txt").unlink()
    (copied.folder / "src").rmdir()
    commit = copied.commit()
    assert commit.changed == (ChangedFile("src", "deleted"), ChangedFile("src/a.txt", "deleted"))
    assert not (copied.project / "src").exists()


def test_a_removed_folder_stays_with_what_somebody_else_put_there(copied):
    (copied.folder / "src" / "a.txt").unlink()
    (copied.folder / "src").rmdir()
    (copied.project / "src" / "of a person").touch()
    commit = copied.commit()
    assert (commit.changed, commit.conflicts) == ((ChangedFile("src/a.txt", "deleted"),), ("src",))
    assert (copied.project / "src" / "of a person").exists()


def test_what_can_not_take_the_others_place_is_left_for_a_person(copied):
    os.mkfifo(copied.folder / "fifo")
    (copied.folder / "b.txt").unlink()
    (copied.folder / "b.txt").mkdir()
    (copied.folder / "fine.txt").write_text("fine\n")
    commit = copied.commit()
    assert commit.conflicts == ("b.txt", "fifo")
    assert commit.changed == (ChangedFile("fine.txt", "created", 5),)
    assert (copied.project / "b.txt").read_text() == "b\n"


def test_protected_paths_never_arrive(copied):
    (copied.folder / ".vscode").mkdir()
    (copied.folder / ".vscode" / "tasks.json").write_text("evil")
    commit = copied.commit()
    assert (commit.changed, commit.undone) == ((), (".vscode", ".vscode/tasks.json"))
    assert not (copied.project / ".vscode").exists()


def test_what_somebody_else_changed_meanwhile_is_not_overwritten(copied):
    (copied.folder / "b.txt").write_text("of the run\n")
    (copied.project / "b.txt").write_text("of a person\n")
    commit = copied.commit()
    assert (commit.changed, commit.conflicts) == ((), ("b.txt",))
    assert (copied.project / "b.txt").read_text() == "of a person\n"


def test_no_link_of_the_project_leads_what_is_written_elsewhere(copied, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (copied.project / "src" / "a.txt").unlink()
    (copied.project / "src").rmdir()
    (copied.project / "src").symlink_to(outside)
    (copied.folder / "src" / "evil.txt").write_text("evil")
    assert "src/evil.txt" in copied.commit().conflicts
    assert list(outside.iterdir()) == []


def test_no_link_planted_in_the_copy_leads_what_is_written_elsewhere(copied, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.write_text("as it was\n")
    for name in (".b.txt.ctxmode-new", ".b.txt.tmp", "b.txt~"):
        (copied.folder / name).symlink_to(outside)
    (copied.folder / "b.txt").write_text("evil\n")
    (copied.folder / "src" / "a.txt").unlink()
    (copied.folder / "src" / "a.txt").symlink_to(outside)
    copied.commit()
    assert outside.read_text() == "as it was\n"
    assert (copied.project / "b.txt").read_text() == "evil\n"
    assert (copied.project / "src" / "a.txt").readlink() == outside


def test_a_large_project_is_refused(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(work_copy, "ENTRIES_MAX", 3)
    project, folder = tmp_path / "project", tmp_path / "copy"
    project.mkdir()
    folder.mkdir()
    for number in range(5):
        (project / str(number)).touch()
    with pytest.raises(RequestError, match="too large to be copied"):
        work_copy.make(ProjectSearch(project), folder, (os.geteuid(), os.getegid()))


async def test_build_writes_to_the_project_in_every_tier(run, project: Path):
    (project / "f.txt").write_text("old\n")
    code = "echo new > f.txt; echo x > made; mkdir .vscode; echo evil > .vscode/t; cat f.txt"
    result = await run("shell", code, profile="build")
    assert (result.status, result.stdout.text) == (Status.OK, "new\n"), result.stderr.text
    assert (project / "f.txt").read_text() == "new\n"
    assert (project / "made").read_text() == "x\n"
    assert not (project / ".vscode").exists()
    assert {c.path: c.change for c in result.changed_files} == {
        "f.txt": "modified",
        "made": "created",
    }
    assert ".vscode" in result.undone_paths


async def test_analyze_never_writes_in_any_tier(run, project: Path):
    (project / "f.txt").write_text("old\n")
    result = await run("shell", "echo new > f.txt; rm -f f.txt; : > made; cat f.txt; true")
    assert result.status is Status.OK
    assert (project / "f.txt").read_text() == "old\n"
    assert [path.name for path in project.iterdir()] == ["f.txt"]
