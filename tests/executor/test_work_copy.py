"""Working on a copy of the project: what is copied, and what comes back of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from executor import RequestError, Status, work_copy
from executor.project.record import take
from executor.project_files import guarded
from executor.project_search import ProjectSearch


def copy(project: Path, folder: Path) -> work_copy.WorkCopy:
    folder.mkdir()
    record = take(project, guarded(ProjectSearch(project)).paths)
    return work_copy.make(record, folder, (os.geteuid(), os.getegid()))


def test_files_folders_and_links_are_copied_as_they_are(project: Path, tmp_path: Path):
    (project / "src").mkdir()
    (project / "src" / "a.sh").write_text("a\n")
    (project / "src" / "a.sh").chmod(0o750)
    os.utime(project / "src", ns=(1, 2_000_000_001))
    (project / "link").symlink_to("src/a.sh")
    folder = copy(project, tmp_path / "copy").folder
    assert (folder / "src" / "a.sh").stat().st_mode == (project / "src" / "a.sh").stat().st_mode
    assert (folder / "src").stat().st_mtime_ns == 2_000_000_001
    assert (folder / "link").readlink() == Path("src/a.sh")


def test_secrets_are_not_copied_whatever_leads_to_them(project: Path, tmp_path: Path):
    (project / "production").write_text("SECRET\n")
    (project / ".env").symlink_to("production")
    (project / "node_modules").mkdir()
    (project / "node_modules" / "id_rsa").write_text("SECRET\n")
    folder = copy(project, tmp_path / "copy").folder
    assert sorted(os.listdir(folder)) == [".env", "node_modules"]
    assert os.listdir(folder / "node_modules") == []


def test_a_secret_that_git_knows_is_unchanged_to_git(project: Path, tmp_path: Path):
    (project / ".env").write_text("PASSWORD=1\n")
    (project / "a").write_text("a\n")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x"]
    for words in (["init", "-q"], ["add", "-f", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], cwd=project, check=True)
    made = copy(project, tmp_path / "copy")
    assert set((made.folder / ".env").read_bytes()) <= {0}
    assert (made.folder / ".env").stat().st_mode & 0o777 == 0
    (made.folder / "a").write_text("b\n")
    subprocess.run([*git, "commit", "-qam", "second"], cwd=made.folder, check=True)
    said = subprocess.run(
        [*git, "show", "--format=", "--name-only"], cwd=made.folder, check=True, capture_output=True
    )
    assert said.stdout == b"a\n"
    changes = made.changes()
    os.close(changes.contents)
    assert ".env" not in {change.path for change in changes.changes}


def test_what_is_no_file_is_not_copied(project: Path, tmp_path: Path):
    os.mkfifo(project / "pipe")
    assert list(copy(project, tmp_path / "copy").folder.iterdir()) == []


@pytest.mark.parametrize("kind", ["link", "file", "fifo", "gone"])
def test_a_folder_exchanged_since_leads_to_nothing(project: Path, tmp_path: Path, kind: str):
    """A host program is at work in the project, too."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "src" / "deep").mkdir(parents=True)
    for folder in (outside, project / "src"):
        (folder / "f").write_text("of the " + folder.name)
    record = take(project, ())
    (project / "src").rename(tmp_path / "aside")
    (project / "g").touch()
    if kind == "link":
        (project / "src").symlink_to(outside)
    elif kind == "file":
        (project / "src").touch()
    elif kind == "fifo":
        os.mkfifo(project / "src")
    (tmp_path / "copy").mkdir()
    made = work_copy.make(record, tmp_path / "copy", (os.geteuid(), os.getegid()))
    assert list(made.folder.rglob("*")) == []
    changes = made.changes()
    os.close(changes.contents)
    assert changes.changes == ()


def test_a_large_project_is_refused(project: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(work_copy, "ENTRIES_MAX", 3)
    for number in range(5):
        (project / str(number)).touch()
    with pytest.raises(RequestError, match="too large to be copied"):
        copy(project, tmp_path / "copy")


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
    assert {left.kind for left in result.not_committed} == {"never"}


async def test_analyze_never_writes_in_any_tier(run, project: Path):
    (project / "f.txt").write_text("old\n")
    result = await run("shell", "echo new > f.txt; rm -f f.txt; : > made; cat f.txt; true")
    assert result.status is Status.OK
    assert (project / "f.txt").read_text() == "old\n"
    assert [path.name for path in project.iterdir()] == ["f.txt"]
