"""Which files of a project are covered, protected and watched, and what tier B may read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from executor.profile import ProjectAccess
from executor.project_files import (
    PROTECTED_PATHS,
    Guarded,
    guarded,
    readable,
)
from executor.project_search import ProjectSearch
from executor.repositories import PROTECTED_IN_GIT
from tests.executor.project_layout import lay_out


@pytest.mark.parametrize("access", [ProjectAccess.COPY_ON_WRITE, ProjectAccess.READ_ONLY])
def test_where_nothing_reaches_the_disk_only_secrets_are_guarded(project: Path, access):
    lay_out(project, ".env", ".git/hooks/", ".vscode/settings.json")
    assert guarded(ProjectSearch(project), access) == Guarded(secrets=(".env",))


def test_a_live_project_has_every_protected_path_bound_or_watched(project: Path):
    lay_out(project, ".git/hooks/", ".git/config", ".vscode/settings.json", ".claude")
    (project / ".bashrc").symlink_to("elsewhere")
    found = guarded(ProjectSearch(project), ProjectAccess.LIVE)
    there = {".git/hooks", ".git/config", ".claude", ".vscode"}
    assert found.pinned == (".git",)
    assert set(found.protected) == there
    watched = {*PROTECTED_PATHS, *in_git(".git"), "elsewhere"} - there
    assert set(found.watched) == watched


def in_git(git: str) -> Iterator[str]:
    return (f"{git}/{path}" for path in PROTECTED_IN_GIT)


def test_where_there_is_no_repository_none_may_be_made(project: Path):
    assert ".git" in guarded(ProjectSearch(project), ProjectAccess.LIVE).watched


def test_repositories_inside_the_project_are_protected_like_its_own(project: Path):
    lay_out(project, ".git/hooks/", "sub/deep/.git/hooks/", "module/.git")
    found = guarded(ProjectSearch(project), ProjectAccess.LIVE)
    assert set(found.protected) == {".git/hooks", "sub/deep/.git/hooks", "module/.git"}
    assert "sub/deep/.git/config" in found.watched
    assert "sub/deep/.git" in found.pinned


def test_folders_on_the_way_to_secrets_and_repositories_cannot_be_renamed(project: Path):
    """Else the next run would look for them in vain, in a folder that is not searched."""
    lay_out(project, "apps/web/.env", "vendor/lib/.git/hooks/", "docs/page.md")
    found = guarded(ProjectSearch(project), ProjectAccess.LIVE)
    assert {"apps", "apps/web", "vendor", "vendor/lib", "vendor/lib/.git"} <= set(found.pinned)
    assert "docs" not in found.pinned


def test_bare_repositories_are_protected_too(project: Path):
    lay_out(project, "data/origin.git/HEAD", "data/origin.git/objects/", "data/origin.git/config")
    found = guarded(ProjectSearch(project), ProjectAccess.LIVE)
    assert "data/origin.git/config" in found.protected
    assert "data/origin.git/hooks" in found.watched


def test_what_a_protected_link_leads_to_is_protected_too(project: Path):
    lay_out(project, ".git/", "tools/hooks/pre-commit", "main.py")
    (project / ".git/hooks").symlink_to("../tools/hooks")
    (project / ".husky").symlink_to("tools/husky")
    found = guarded(ProjectSearch(project), ProjectAccess.LIVE)
    assert "tools/hooks" in found.protected
    assert "tools" in found.pinned
    assert {".git/hooks", ".husky", "tools/husky"} <= set(found.watched)


def test_a_worktrees_git_file_is_protected_too(project: Path):
    lay_out(project, ".git")
    found = guarded(ProjectSearch(project), ProjectAccess.LIVE)
    assert found.protected == (".git",)


def test_a_project_without_secrets_is_granted_whole(project: Path):
    lay_out(project, "src/main.py")
    assert readable(ProjectSearch(project)) == ((str(project), "r"),)


def test_beside_a_secret_entries_are_granted_one_by_one(project: Path):
    lay_out(project, "deep/er/.env", "deep/er/main.py", "deep/other.py", "src/main.py", "top.txt")
    granted = {
        os.path.relpath(path, project): access for path, access in readable(ProjectSearch(project))
    }
    assert granted == {
        ".": "list",
        "deep": "list",
        "deep/er": "list",
        "deep/er/main.py": "r",
        "deep/other.py": "r",
        "src": "r",
        "top.txt": "r",
    }


def test_links_are_granted_nothing_of_their_own(project: Path, tmp_path: Path):
    lay_out(project, ".env", "main.py")
    (project / "to a secret").symlink_to(".env")
    (project / "to the outside").symlink_to(tmp_path)
    granted = {
        os.path.relpath(path, project): access for path, access in readable(ProjectSearch(project))
    }
    assert granted == {".": "list", "main.py": "r"}
