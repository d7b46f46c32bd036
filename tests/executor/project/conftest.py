"""A project of a few files, and views of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.executor.project.git_work import shell
from tests.executor.project.viewing import View

OLD_NS = 1_600_000_000_123_456_789


def fill(project: Path) -> None:
    """Files, folders, links and hard links that are years old."""
    (project / "src" / "deep" / "er").mkdir(parents=True)
    (project / "docs").mkdir()
    (project / "empty").mkdir()
    (project / "a.txt").write_text("a\n")
    (project / "b.txt").write_text("b\n")
    (project / "run.sh").write_text("#!/bin/sh\n")
    (project / "run.sh").chmod(0o755)
    (project / "src" / "main.c").write_text("int main(void) { return 0; }\n")
    (project / "src" / "deep" / "er" / "x.txt").write_text("x\n" * 100)
    (project / "src" / "deep" / "y.txt").write_text("y\n")
    (project / "docs" / "one.md").write_text("# one\n")
    (project / "docs" / "two.md").write_text("# two\n")
    (project / "link").symlink_to("a.txt")
    (project / "hard1").write_text("hard\n")
    os.link(project / "hard1", project / "hard2")
    os.setxattr(project / "b.txt", "user.tag", b"b")
    make_old(project)


def make_old(top: Path) -> None:
    for folder, folders, files in os.walk(top, topdown=False):
        for name in folders + files:
            os.utime(Path(folder, name), ns=(OLD_NS, OLD_NS), follow_symlinks=False)
    os.utime(top, ns=(OLD_NS, OLD_NS))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    fill(folder)
    return folder


@pytest.fixture
def twin(project: Path, tmp_path: Path) -> Path:
    """The same repository, for the same work by hand."""
    folder = tmp_path / "twin"
    shell(tmp_path, f"cp -a {project} {folder}")
    return folder


@pytest.fixture
def view(project: Path, tmp_path: Path) -> View:
    begun = View(project, tmp_path / "view")
    begun.begin()
    return begun


@pytest.fixture(params=[pytest.param("overlay", marks=pytest.mark.tier_a), "copy"])
def any_view(request: pytest.FixtureRequest, project: Path, tmp_path: Path) -> View:
    begun = View(project, tmp_path / "view", request.param)
    begun.begin()
    return begun
