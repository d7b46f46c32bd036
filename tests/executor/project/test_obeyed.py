"""What names of the table lead to, in a project, is obeyed as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor.project.rules.named_files import in_project
from executor.project.view.record import take
from executor.settings import Settings
from tests.executor.project_layout import lay_out

pytestmark = pytest.mark.once  # a table is the same for everyone


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


@pytest.mark.parametrize(
    ("variable", "path"),
    [
        ("CODEX_HOME", "own/hooks.json"),
        ("CLAUDE_CONFIG_DIR", "own/settings.json"),
        ("CLAUDE_CONFIG_DIR", "own/.claude.json"),
        ("GEMINI_CLI_HOME", "own/.gemini/settings.json"),
        ("XDG_CONFIG_HOME", "own/opencode/plugins/x.ts"),
    ],
)
def test_a_hosts_folder_that_a_variable_moves_into_the_project_is_not_committed(
    project: Path, monkeypatch: pytest.MonkeyPatch, variable: str, path: str
):
    wanted = "never" if path.endswith((".claude.json", ".gemini/settings.json")) else None
    assert verdict(project, path) == wanted  # the control: these names hold anywhere
    monkeypatch.setenv(variable, str(project / "own"))
    assert verdict(project, path) == ("held" if variable == "XDG_CONFIG_HOME" else "never")
    assert verdict(project, "main.py") is None


def test_a_link_that_leads_out_of_the_project_adds_nothing(project: Path, tmp_path: Path):
    (project / ".vscode").symlink_to(tmp_path)
    assert verdict(project, "main.py") is None
