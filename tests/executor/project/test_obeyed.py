"""What names of the table lead to, in a project, is obeyed as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor.project.rules.followed_files import in_project
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


@pytest.mark.parametrize("git", [".git", "vendor/lib/.git", "data/origin.git"])
def test_what_a_repositorys_configuration_names_is_never_committed(project: Path, git: str):
    lay_out(project, f"{git}/HEAD", f"{git}/objects/")
    top = (project / git).parent
    assert verdict(project, f"{top.relative_to(project)}/own/hooks/pre-commit") is None
    (project / git / "config").write_text(f"[core]\n\thooksPath = {top}/own/hooks\n")
    inside = (top / "own/hooks/pre-commit").relative_to(project)
    assert verdict(project, str(inside)) == "never"


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


COMMANDS = {
    "[core]\n\tfsmonitor = ./tools/own": "tools/own",
    '[filter "x"]\n\tclean = python3 "tools/own" %f': "tools/own",
    '[diff "x"]\n\ttextconv = tools/own --text': "tools/own",
    "[merge \"x\"]\n\tdriver = 'tools/own' %A %O %B": "tools/own",
    "[credential]\n\thelper = !tools/own": "tools/own",
    "[core]\n\tsshCommand = ssh -F tools/own": "tools/own",
    "[core]\n\tattributesFile = tools/own": "tools/own",
    '[gpg "ssh"]\n\tprogram = tools/own': "tools/own",
    "[pager]\n\tlog = tools/own": "tools/own",
    '[filter "x"]\n\tsmudge = python3 own.py': "own.py",
}


@pytest.mark.parametrize("text", COMMANDS)
def test_files_of_commands_that_git_starts_are_never_committed(project: Path, text: str):
    lay_out(project, ".git/HEAD", ".git/objects/", "own.py", "tools/other")
    assert verdict(project, COMMANDS[text]) is None  # the control
    (project / ".git/config").write_text(text + "\n")
    assert verdict(project, COMMANDS[text]) == "never"
    assert verdict(project, "tools/other") is None


@pytest.mark.parametrize("place", [".gitconfig", ".config/git/config"])
def test_so_are_those_that_the_users_own_configuration_names(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
):
    lay_out(project, ".git/HEAD", ".git/objects/")
    home = tmp_path / "home"
    (home / place).parent.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    assert verdict(project, "ci/hooks/pre-commit") is None  # the control
    (home / place).write_text("[include]\n\tpath = more\n")
    (home / place).with_name("more").write_text("[core]\n\thooksPath = ci/hooks\n")
    assert verdict(project, "ci/hooks/pre-commit") == "never"


def test_a_worktree_obeys_the_configuration_of_its_repository(project: Path, tmp_path: Path):
    main = tmp_path / "main"
    lay_out(main, ".git/HEAD", ".git/objects/x", ".git/worktrees/w/HEAD")
    (main / ".git/worktrees/w/gitdir").write_text(f"{project}/.git\n")
    (main / ".git/worktrees/w/commondir").write_text("../..\n")
    (project / ".git").write_text(f"gitdir: {main}/.git/worktrees/w\n")
    assert verdict(project, "ci/hooks/pre-commit") is None  # the control
    (main / ".git/config").write_text("[core]\n\thooksPath = ci/hooks\n")
    assert verdict(project, "ci/hooks/pre-commit") == "never"


def test_a_link_that_leads_out_of_the_project_adds_nothing(project: Path, tmp_path: Path):
    (project / ".vscode").symlink_to(tmp_path)
    assert verdict(project, "main.py") is None
