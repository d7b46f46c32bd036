"""What names of the table lead to, in a project, is obeyed as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor.project.obeyed import in_project
from executor.project.record import take
from executor.settings import Settings
from tests.executor.project_layout import lay_out


def verdict(project: Path, path: str) -> str | None:
    row = in_project(Settings().names, take(project, ())).judge(path)
    return row and row.verdict


def test_without_links_the_table_alone_decides(project: Path):
    lay_out(project, "CLAUDE.md", "docs/guide.md")
    assert verdict(project, "CLAUDE.md") == "held"
    assert verdict(project, "docs/guide.md") is None


LINKS = {
    "CLAUDE.md": ("docs/guide.md", "docs/guide.md", "held"),
    ".vscode": ("tools/editor", "tools/editor/tasks.json", "never"),
    "sub/.envrc": ("../env/rc", "env/rc", "never"),
}


@pytest.mark.parametrize("link", LINKS)
def test_what_a_link_of_such_a_name_leads_to_is_judged_as_the_link(project: Path, link: str):
    target, path, wanted = LINKS[link]
    (project / link).parent.mkdir(exist_ok=True)
    assert verdict(project, path) is None  # the control
    (project / link).symlink_to(target)
    assert verdict(project, path) == wanted
    assert verdict(project, "main.py") is None


@pytest.mark.parametrize("git", [".git", "vendor/lib/.git", "data/origin.git"])
def test_what_a_repositorys_configuration_names_is_never_committed(project: Path, git: str):
    lay_out(project, f"{git}/HEAD", f"{git}/objects/")
    top = (project / git).parent
    assert verdict(project, f"{top.relative_to(project)}/own/hooks/pre-commit") is None
    (project / git / "config").write_text(f"[core]\n\thooksPath = {top}/own/hooks\n")
    inside = (top / "own/hooks/pre-commit").relative_to(project)
    assert verdict(project, str(inside)) == "never"


def test_a_link_that_leads_out_of_the_project_adds_nothing(project: Path, tmp_path: Path):
    (project / ".vscode").symlink_to(tmp_path)
    assert verdict(project, "main.py") is None
