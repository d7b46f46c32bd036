"""Working on a copy of the project: what is copied, and what comes back of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from executor import RequestError, Status
from executor.project.view import work_copy
from executor.project.view.record import take
from executor.project.view.search import ProjectSearch


def copy(project: Path, folder: Path) -> work_copy.WorkCopy:
    folder.mkdir()
    record = take(project, ProjectSearch(project).look().secrets)
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


def test_hard_links_and_attributes_are_copied_as_such(project: Path, tmp_path: Path):
    (project / "one").write_text("x")
    (project / "src").mkdir()
    os.link(project / "one", project / "src" / "two")
    os.setxattr(project / "src", "user.tag", b"s")
    made = copy(project, tmp_path / "copy")
    assert (made.folder / "one").samefile(made.folder / "src" / "two")
    assert os.getxattr(made.folder / "src", "user.tag") == b"s"
    (made.folder / "src" / "n").write_text("n")  # so that the folder is compared
    changes = made.changes()
    os.close(changes.contents)
    assert {(c.path, c.change) for c in changes.changes} == {("src", "times"), ("src/n", "created")}


@pytest.mark.skipif(os.geteuid() == 0, reason="not applicable: root may read everything")
def test_what_this_user_may_not_read_is_not_copied_and_stays(project: Path, tmp_path: Path):
    (project / "closed").write_text("closed")
    (project / "closed").chmod(0)
    (project / "folder").mkdir()
    (project / "folder" / "f").write_text("f")
    (project / "folder").chmod(0)
    (project / "open").write_text("open")
    made = copy(project, tmp_path / "copy")
    assert os.listdir(made.folder) == ["open"]
    assert {"closed", "folder"} <= made.record.hidden
    changes = made.changes()
    os.close(changes.contents)
    assert changes.changes == ()


def test_a_secret_that_git_knows_is_unchanged_to_git(project: Path, tmp_path: Path):
    (project / ".env").write_text("PASSWORD=1\n")
    (project / "a").write_text("a\n")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x"]
    for words in (["init", "-q"], ["add", "-f", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], cwd=project, check=True)
    made = copy(project, tmp_path / "copy")
    assert (made.folder / ".env").stat().st_mode & 0o777 == 0
    if os.access(made.folder / ".env", os.R_OK):
        assert set((made.folder / ".env").read_bytes()) <= {0}
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
    monkeypatch.setattr(work_copy, "COPY_ENTRIES_MAX", 3)
    for number in range(5):
        (project / str(number)).touch()
    with pytest.raises(RequestError, match="too large to be copied"):
        copy(project, tmp_path / "copy")


@dataclass
class Both:
    """A project and a copy of it that a program has worked in."""

    project: Path
    copy: work_copy.WorkCopy

    def renew(self) -> None:
        record = take(self.project, ProjectSearch(self.project).look().secrets)
        self.copy = self.copy.renew(record)

    def agree(self) -> None:
        self.copy = self.copy.record_agreed(take(self.project, ()))

    @property
    def differences(self) -> list[str]:
        changes = self.copy.changes()
        os.close(changes.contents)
        return [change.path for change in changes.changes]


@pytest.fixture
def both(project: Path, tmp_path: Path) -> Both:
    (project / "sub" / "deep").mkdir(parents=True)
    for name in ("a", "b", "sub/c", "sub/deep/d"):
        (project / name).write_text(f"{name}\n")
    (project / "link").symlink_to("a")
    return Both(project, copy(project, tmp_path / "copy"))


def files(top: Path) -> dict[str, object]:
    """Every entry with its mode, and a file's text and time."""
    found: dict[str, object] = {}
    for path in top.rglob("*"):
        info = path.lstat()
        kind = (path.read_text(), info.st_mtime_ns) if path.is_file() else ()
        found[str(path.relative_to(top))] = (info.st_mode, kind)
    return found


HOSTS = {
    "nothing": lambda top: None,
    "edits in place": lambda top: (top / "sub" / "c").write_text("new\n"),
    "replaces": lambda top: (top / "a").write_text("new\n") and (top / "a").replace(top / "b"),
    "deletes": lambda top: (top / "sub" / "deep" / "d").unlink(),
    "makes": lambda top: (top / "sub" / "e").write_text("new\n"),
    "makes a secret": lambda top: (top / ".env").write_text("KEY=x\n"),
    "puts a folder in a file's place": lambda top: (top / "a").unlink() or (top / "a").mkdir(),
    "changes a mode": lambda top: (top / "sub").chmod(0o700),
}
PROGRAMS = {
    "nothing": lambda top: None,
    "writes": lambda top: (top / "sub" / "c").write_text("mine"),
    "deletes a folder": lambda top: shutil.rmtree(top / "sub"),
    "makes": lambda top: (top / "sub" / "deep" / "made").write_text("mine"),
    "links a folder": lambda top: shutil.rmtree(top / "sub") or (top / "sub").symlink_to("/"),
    "puts a folder in a file's place": lambda top: (top / "b").unlink() or (top / "b").mkdir(),
    "makes a FIFO": lambda top: (top / "a").unlink() or os.mkfifo(top / "a"),
    "locks": lambda top: (top / "sub" / "deep").chmod(0) or top.chmod(0),
    "touches": lambda top: os.utime(top / "sub" / "c"),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("host", HOSTS)
def test_a_renewed_copy_is_the_project_as_it_is_by_now(host: str, program: str, both: Both):
    PROGRAMS[program](both.copy.folder)
    HOSTS[host](both.project)
    both.renew()
    expected = files(both.project)
    expected.pop(".env", None)
    assert files(both.copy.folder) == expected
    assert both.differences == []
    (both.copy.folder / "later").touch()
    assert both.differences == ["later"]


def test_a_renewal_keeps_the_files_that_neither_side_has_changed(both: Both):
    inode = (both.copy.folder / "b").stat().st_ino
    (both.project / "a").write_text("new\n")
    both.renew()
    assert (both.copy.folder / "b").stat().st_ino == inode


def test_what_was_committed_is_a_change_no_more(both: Both):
    for top in (both.project, both.copy.folder):
        (top / "a").write_text("committed\n")
    both.agree()
    assert both.differences == []
    (both.copy.folder / "a").write_text("and more\n")
    assert both.differences == ["a"]


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
