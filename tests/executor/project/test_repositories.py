"""What git would obey in a project, and which repository a project may name."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from executor.project.rules import repositories
from executor.project.rules.repositories import find_configured, find_linked
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
    assert repositories.find_linked(other) == ()
    assert repositories.find_linked(tmp_path / "tree") == (str(other / ".git"),)


def test_a_submodule_names_its_repository(other: Path, project: Path):
    git(project, "init", "-q")
    git(project, "submodule", "--quiet", "add", str(other), "sub")
    assert repositories.find_linked(project / "sub") == (str(project / ".git/modules/sub"),)


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
    assert repositories.find_linked(project) == ()


def test_a_repository_that_does_not_know_the_project_stays_closed(project: Path, other: Path):
    """Who packed a project up could else name any repository of who unpacks it."""
    (project / ".git").write_text(f"gitdir: {other}/.git\n")
    assert repositories.find_linked(project) == ()
    (project / ".git").write_text("gitdir: fake\n")
    lay_out(project, "fake/HEAD")
    (project / "fake/gitdir").write_text(f"{project}/.git\n")
    (project / "fake/commondir").write_text(f"{other}/.git\n")
    assert repositories.find_linked(project) == ()


CONFIGURED = {
    "[core]\n\thooksPath = .githooks\n": {".githooks"},
    '[core] hookspath = "tools/my hooks" ; mine\n': {"tools/my hooks"},
    "[include]\n\tpath = ../.gitconfig.shared\n": {".gitconfig.shared"},
    '[includeIf "onbranch:x"]\n\tpath = more\n': {".git/more"},
    "[core]\n\thooksPath = /usr/share/hooks\n": set(),
    "[core]\n\thooksPath = ../outside\n": set(),
}


def named(project: Path) -> set[str]:
    return {os.path.relpath(path, project) for path in find_configured(project, ".git")}


@pytest.mark.parametrize("configuration", CONFIGURED)
def test_what_the_configuration_leads_to_is_named(project: Path, configuration: str):
    lay_out(project, ".git/")
    assert named(project) == set()
    (project / ".git/config").write_text(configuration)
    assert named(project) == CONFIGURED[configuration]


def test_an_included_configuration_leads_on(project: Path):
    lay_out(project, ".git/")
    (project / ".git/config").write_text("[include]\n\tpath = ../shared.conf\n")
    (project / "shared.conf").write_text("[core]\n\thooksPath = hooks\n[include]\npath=shared.conf")
    assert named(project) == {"shared.conf", "hooks"}


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/stdin", "pipe"])
@pytest.mark.parametrize("name", [".git", ".git/config"])
def test_what_is_no_file_leads_nowhere_and_is_not_waited_for(project: Path, name: str, target: str):
    (project / name).parent.mkdir(exist_ok=True)
    os.mkfifo(project / "pipe")
    (project / name).symlink_to(project / target)
    assert find_linked(project) == ()
    assert named(project) == set()


@pytest.mark.parametrize("place", ["x" * 100_000, "a\0b", "\udcff", ""])
def test_a_git_file_that_names_no_path_leads_nowhere(project: Path, place: str):
    (project / ".git").write_text(f"gitdir: {place}\n", errors="surrogateescape")
    assert find_linked(project) == ()
