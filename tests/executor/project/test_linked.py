"""The repository outside of a project that its `.git` file may name."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from executor.project.git import host
from executor.project.git.host import find_linked
from tests.executor.project_layout import lay_out

pytestmark = pytest.mark.view  # a repository is the same for everyone


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    trusted = ("-c", "protocol.file.allow=always")
    command = ["git", *identity, *trusted, *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A repository that has nothing to do with the project."""
    folder = tmp_path / "other"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_a_worktree_names_its_repository_and_a_plain_one_needs_none(other: Path, tmp_path: Path):
    git(other, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert find_linked(other) == ()
    assert find_linked(tmp_path / "tree") == (str(other / ".git"),)


def test_a_submodule_names_its_repository(other: Path, project: Path):
    git(project, "init", "-q")
    git(project, "submodule", "--quiet", "add", str(other), "sub")
    assert find_linked(project / "sub") == (str(project / ".git/modules/sub"),)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"gitdir: /nowhere",
        b"gitdir: ..",
        b"something: .git",
        b"\xff\xfe",
        b"gitdir: /etc\n",
    ],
)
def test_a_git_file_that_leads_to_no_repository_opens_nothing(project: Path, content):
    (project / ".git").write_bytes(content)
    assert find_linked(project) == ()


def test_a_repository_that_does_not_know_the_project_stays_closed(project: Path, other: Path):
    """Who packed a project up could else name any repository of who unpacks it."""
    (project / ".git").write_text(f"gitdir: {other}/.git\n")
    assert find_linked(project) == ()
    (project / ".git").write_text("gitdir: fake\n")
    lay_out(project, "fake/HEAD")
    (project / "fake/gitdir").write_text(f"{project}/.git\n")
    (project / "fake/commondir").write_text(f"{other}/.git\n")
    assert find_linked(project) == ()


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/stdin", "pipe"])
def test_what_is_no_file_leads_nowhere_and_is_not_waited_for(project: Path, target: str):
    os.mkfifo(project / "pipe")
    (project / ".git").symlink_to(project / target)
    assert find_linked(project) == ()


@pytest.mark.parametrize("name", ["config", "HEAD", "commondir", "gitdir"])
def test_a_repository_that_never_ends_is_given_up(project: Path, other: Path, monkeypatch, name):
    monkeypatch.setattr(host, "LINKED_BOUNDS", (0.5, 1 << 16))
    git(other, "worktree", "add", "-q", str(project / "tree"))
    assert find_linked(project / "tree")  # the control
    folder = other / ".git/worktrees/tree"
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    (other / ".git/config").write_text("[extensions]\n\tworktreeConfig = true\n")
    assert find_linked(project / "tree") == () or name == "config"


@pytest.mark.parametrize("place", ["x" * 100_000, "a\0b", "\udcff", ""])
def test_a_git_file_that_names_no_path_leads_nowhere(project: Path, place: str):
    (project / ".git").write_text(f"gitdir: {place}\n", errors="surrogateescape")
    assert find_linked(project) == ()
