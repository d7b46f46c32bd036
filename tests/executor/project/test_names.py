"""Which names are never committed, which are held, and that all others pass."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from executor.project.rules.names import (
    CONTROL_ROWS,
    NAMES,
    ROWS,
    ChangeVerdict,
    ObeyedNames,
    judge_control,
    with_moves,
)

pytestmark = pytest.mark.once  # a table is the same for everyone

ROOT = Path(__file__).parents[3]
NEVER = """
.envrc sub/.envrc mise.toml .mise.local.toml .config/mise/config.toml .mise/tasks/a .rvmrc .vscode
.vscode/tasks.json sub/dir/.vscode/tasks.json a.code-workspace .idea/workspace.xml
.devcontainer/devcontainer.json .devcontainer.json .gitpod.yml .zed/tasks.json .mcp.json
.claude/settings.json .claude/commands/a.md .claude/hooks/x .codex/config.toml .cursor/mcp.json
.gemini/settings.json .opencode/plugin/a.ts opencode.json opencode.jsonc .windsurf/hooks.json
.junie/mcp/mcp.json .kiro/hooks/a .qwen/settings.json .roo/mcp.json .clinerules/hooks/a
.crush.json crush.json .amazonq/mcp.json .continue/config.yaml .factory/hooks.json
.kilocode/mcp.json .aider.conf.yml .github/hooks/a.json .github/copilot/settings.json .agents/a
.ctxmode/config.toml .husky/_/pre-commit .gdbinit .lldbinit .exrc .vimrc .nvimrc .nvim.lua .lvimrc
.dir-locals.el .tmux.conf .screenrc .inputrc .bashrc .bash_profile .bash_login .bash_logout
.profile .zshrc .zprofile .zshenv .zlogin .zlogout .kshrc .cshrc .tcshrc .login
.config/fish/config.fish .pdbrc .irbrc irb.rc .hotspot_compiler .miserc.local.toml .pryrc
.Rprofile .Renviron .RData .iex.exs .erlang .ghci .sbclrc .psqlrc .sqliterc .my.cnf .ackrc
.ripgreprc .gitconfig .gitmodules .hgrc .ssh/config .gnupg/gpg.conf .config/autostart/a
.config/systemd/user/a.service .local/bin/ls .local/lib/python3.11/site-packages/a.pth
.config/git/config .jj/repo/config.toml .sl/config .hg/hgrc .hg/hgrc-not-shared .hg/sharedpath
.git/hooks/pre-commit .git/config .git/config.worktree .git/commondir .git/modules/a/HEAD
.git/info/attributes .git/info/exclude .git/refs/replace/a
.git/objects/info/alternates .git/worktrees/a/commondir .git/remotes/origin
venv/x/.git/hooks/a node_modules/a/.git/config target/.git/hooks/a site-packages/a/.hg/hgrc
node_modules/a/.envrc node_modules/.hooks/install node_modules/a/.claude/settings.json
.ropeproject/config.py .obsidian/plugins/a/main.js .opencode.json gptme.toml hie.yaml
.lsp/config.edn .jdbrc .valgrindrc .lazy.lua tasks.vs.json app.pro.user CMakeLists.txt.user
.tern-project .elixir_ls/build/a.beam p4.ini .fslckout _FOSSIL_ .versions.conf bin/hermit
.rdebugrc .plrc conductor.json .ruby-lsp/Gemfile sub/.metals/x .bloop/a.json
.vscode/node_modules/a .cursor/rules/.vscode/tasks.json .agents/AGENTS.md
"""
HELD = """
AGENTS.md sub/AGENTS.md docs/agents.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md .cursorrules
.cursor/rules/a.mdc .windsurfrules .clinerules .clinerules/a.md .github/copilot-instructions.md
.claude/rules/a.md .github/instructions/a.md .kiro/steering/a.md .rules .github/workflows/ci.yml
.github/actions/a/action.yml .gitlab-ci.yml .circleci/config.yml azure-pipelines.yml Jenkinsfile
.travis.yml bitbucket-pipelines.yml .woodpecker.yml .drone.yml .buildkite/pipeline.yml
appveyor.yml .forgejo/workflows/a.yml .gitea/workflows/a.yml CODEOWNERS .npmrc .yarnrc .yarnrc.yml
.yarn/releases/yarn.cjs .yarn/plugins/a.cjs .pnpmfile.cjs bunfig.toml .cargo/config
.cargo/config.toml pip.conf .pypirc .bundle/config .mvn/extensions.xml NuGet.Config .condarc
.pre-commit-config.yaml lefthook.yml .lefthook-local.yml .husky/pre-commit .githooks/a
.overcommit.yml .lintstagedrc.json .nvmrc .node-version .python-version .ruby-version
.tool-versions rust-toolchain rust-toolchain.toml .java-version .sdkmanrc global.json .env
.env.local sub/.env flake.nix sub/shell.nix default.nix devbox.json Directory.Build.props
Directory.Build.rsp before.a.sln.targets a.csproj.user dotnet-tools.json pnpm-workspace.yaml
.clinerules-code .goosehints.local .mcp.yaml docker-compose.override.yml .svn/wc.db .merlin
aqua.yaml .pkgx.yaml .latexmkrc .sbtrc tools/bazel.bat .coderabbit.yaml netlify.toml
.context-mode/CLAUDE_CONTEXT.md .context-mode/.gitignore CODEX_CONTEXT.md sub/AIDER_CONTEXT.md
"""
COMMITTED = """
src/main.py README.md package.json package-lock.json Makefile pyproject.toml Cargo.toml Gemfile
.gitignore .gitattributes .dockerignore .editorconfig .prettierrc .eslintrc.js tsconfig.json
.github/ISSUE_TEMPLATE/bug.md .env.example .env.prod.example docs/claude.md.txt environment.py
envrc vscode/a idea.txt git/hooks/a hooks/pre-commit config x.envrc .envrcx conventions.md
CONVENTIONS.md sub/.rules .config/nextest.toml .yarn/cache/a.zip .yarn/install-state.gz
.venv/bin/python venv/lib/python3.11/site-packages/a/b.py node_modules/.bin/tsc
node_modules/.package-lock.json node_modules/a/.npmrc node_modules/a/.vscode/settings.json
node_modules/a/AGENTS.md node_modules/@a/b/.github/workflows/ci.yml node_modules/a/.travis.yml
venv/lib/python3.11/site-packages/a/.env vendor/bundle/ruby/3.2.0/gems/a/.ruby-version .git
.git/HEAD .git/index .git/objects/ab/cdef .git/refs/heads/main .git/refs/heads/mise.toml
.git/logs/refs/heads/AGENTS.md .git/packed-refs .hg/store/00changelog.i
.hg/dirstate target/debug/app dist/app.desktop a.desktop git~ backup~ file.~1~ a~1.txt
sub/default.nix pkgs/kubeconfig/a.go models/head/objects/a docker-compose.yml Procfile a.out x.in
"""
TRICKS = (
    ".GIT/hooks/pre-commit",
    ".Git/HEAD",
    "sub/.gIt/config",
    "GIT~1/config",
    "git~2/hooks",
    ".g\u200cit/config",
    ".gi\u00adt/x",
    ".git./hooks/a",
    ".git /hooks/a",
    ".git::$INDEX_ALLOCATION/hooks/a",
    ".git\\hooks\\pre-commit",
    ".HG/store/x",
    ".Envrc",
    ".ENVRC",
    ".envrc.",
    ".envrc ",
    ".envrc::$DATA",
    "ENVRC~1",
    ".e\u200bnvrc",
    "VSCODE~1/tasks.json",
    ".v\u017fcode/tasks.json",
    ".VSCode/tasks.json",
    "a.Code-Workspace",
    "sub\\.vscode\\tasks.json",
    "node_modules\\a/.vscode/tasks.json",  # one folder's name, and no folder of packages
    "Node_Modules/.vscode/tasks.json",
    ".GitModules",
    "GITMOD~1",
    "GI7EBA~1",
    "./.envrc",
    "a//.envrc",
    "a/../.envrc",
    ".../.envrc",
    ".idea/",
)


@pytest.mark.parametrize("path", NEVER.split())
def test_never_committed(path):
    assert verdict(path) is ChangeVerdict.NEVER


@pytest.mark.parametrize("path", HELD.split())
def test_held_for_a_person(path):
    assert verdict(path) is ChangeVerdict.HELD


@pytest.mark.parametrize("path", COMMITTED.split())
def test_committed(path):
    assert verdict(path) is None


@pytest.mark.parametrize("path", TRICKS, ids=ascii)
def test_another_spelling_is_no_way_round(path):
    assert verdict(path) is ChangeVerdict.NEVER


def verdict(path: str) -> ChangeVerdict | None:
    row = NAMES.judge(path)
    return row and row.verdict


def test_files_of_real_projects_pass():
    """This project's own, and the standard library's: over 1,000."""
    here = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\n")
    library = Path(subprocess.__file__).parent
    names = [str(path.relative_to(library)) for path in library.rglob("*.py")]
    assert len(names) > 200
    # Tools obey the first two, and each start of Python what Debian adds to the
    # library. To a file system that ignores case the page is instructions.
    obeyed = {".github/workflows/ci.yml", ".pre-commit-config.yaml", "sitecustomize.py"}
    stopped = {name for name in (*here, *names) if NAMES.judge(name)}
    assert stopped <= {*obeyed, "docs/agents.md"}


def test_every_row_holds_its_own_name_and_all_below():
    for row in ROWS:
        path = row.pattern.replace("*", "any")
        for shape in (
            path,
            f"{path}/deep/er",
            path.upper(),
            f"sub/{path}" if row.anywhere else path,
        ):
            found = NAMES.judge(shape)
            assert found, shape
            assert found.verdict in (row.verdict, ChangeVerdict.NEVER), shape


def test_no_row_is_there_twice_and_each_says_what_obeys_it():
    rows = (*ROWS, *CONTROL_ROWS)
    assert [name for name, n in Counter(row.pattern for row in rows).items() if n > 1] == []
    assert [row for row in rows if len(row.obeyed_by) < 10] == []


@pytest.mark.parametrize(
    ("path", "folder", "is_never"),
    [
        ("", ".git", True),
        ("hooks/pre-commit", ".git", True),
        ("HOOKS/pre-commit", ".git", True),
        ("config", ".git", True),
        ("config.lock", ".git", True),
        ("worktrees/a/gitdir", ".git", True),
        ("objects/info/alternates", ".git", True),
        ("modules", ".git", True),
        ("HEAD", ".git", False),
        ("refs/heads/config", ".git", False),
        ("refs/heads/hooks/x", ".git", False),
        ("hgrc", ".hg", True),
        ("hgrc", ".git", False),
        ("store/00manifest.i", ".hg", False),
        ("repo/config.toml", ".jj", True),
        ("anything", ".sl", True),
    ],
)
def test_inside_a_repositorys_folder(path, folder, is_never):
    row = judge_control(path, folder)
    assert (row is not None and row.verdict is ChangeVerdict.NEVER) == is_never


@pytest.mark.parametrize("path", [".cargo", "sub/.github", ".config", ".git", ".vscode", ".yarn"])
def test_a_link_is_judged_by_what_would_be_obeyed_through_it(path):
    assert NAMES.judge_link(path)


@pytest.mark.parametrize("path", ["src", "node_modules", "node_modules/.bin/tsc", "data", ".venv"])
def test_other_links_pass(path):
    assert NAMES.judge_link(path) is None


def test_what_a_link_leads_to_is_obeyed_as_the_link_is():
    links = [(".vscode", "conf/editor"), (".config", "dot"), (".git/hooks", "tools"), ("a", "src")]
    names = NAMES.with_links(links)
    found = {
        path: row.verdict if (row := names.judge(path)) else None
        for path in (
            "conf/editor/tasks.json",
            "conf/editor",
            "conf/other",
            "dot/fish/config.fish",
            "dot/other",
            "tools/pre-commit",
            "src/main.py",
        )
    }
    assert [path for path, verdict in found.items() if verdict is ChangeVerdict.NEVER] == [
        "conf/editor/tasks.json",
        "conf/editor",
        "dot/fish/config.fish",
        "tools/pre-commit",
    ]


def judged(moves: dict[str, str], *paths: str) -> list[str]:
    names = with_moves(moves)
    return [row.verdict.value if (row := names.judge(path)) else "commit" for path in paths]


def test_a_user_moves_rows_and_adds_his_own():
    moves = {".vscode": "held", ".envrc": "commit", ".npmrc": "never", "*.secret": "never"}
    paths = (".vscode/tasks.json", "a/.envrc", ".npmrc", "b/x.secret", ".idea/a")
    assert judged(moves, *paths) == ["held", "commit", "never", "never", "never"]


def test_a_longer_name_outweighs_a_shorter_one_for_its_own_place():
    moves = {"docs/.idea": "commit", ".claude/agents": "held"}
    paths = ("docs/.idea/a", "a/docs/.idea", ".idea/a", ".claude/agents/a", ".claude/hooks/a")
    assert judged(moves, *paths) == ["commit", "commit", "never", "held", "never"]
    assert judged(moves, "docs/.idea/.envrc") == ["never"]


def test_a_slash_at_the_beginning_means_the_top():
    moves = {"/.envrc": "commit", "/.vscode/**": "held", "/Procfile": "never"}
    paths = (".envrc", "a/.envrc", ".vscode/x", "a/.vscode/x", "Procfile", "a/Procfile")
    assert judged(moves, *paths) == ["commit", "never", "held", "never", "never", "commit"]


@pytest.mark.parametrize(
    "moves",
    [
        {".git/hooks": "commit"},
        {"sub/.GIT": "held"},
        {".hg/hgrc": "commit"},
        {".jj": "commit"},
        {"*": "commit"},
        {"**/.envrc": "commit"},
        {"src": "commit"},
        {".envrc": "maybe"},
        {"": "never"},
        {"a//b": "never"},
        {"a" * 300: "never"},
        {"a*b*c*d*e": "never"},
        {"a/b/c/d/e/f/g": "never"},
    ],
    ids=str,
)
def test_a_move_that_means_nothing_is_refused(moves):
    with pytest.raises(ValueError, match=r"."):  # the words are for people
        with_moves(moves)


def test_a_star_can_uncover_no_control_file():
    moves = {".g*": "commit", ".g*/*": "commit", ".git*/hooks": "commit"}
    assert judged(moves, ".git/hooks/a", ".git/config") == ["never", "never"]


def calls(names: ObeyedNames, paths: list[str]) -> int:
    """How many functions are called to judge these, which says more than time."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        for path in paths:
            names.judge(path)
    finally:
        sys.setprofile(None)
    return count


def test_an_ordinary_path_costs_a_few_look_ups_for_each_name():
    paths = [f"node_modules/pkg{n % 900}/lib/deep/file{n}.js" for n in range(4000)]
    assert calls(NAMES, paths) < 60 * len(paths)


@pytest.mark.parametrize("name", [".vs", ".env.a", ".env.example", ".cursor/rules", "a*", ".*-v"])
def test_a_hostile_path_costs_in_proportion_to_its_length(name):
    short, long = (calls(NAMES, ["/".join([name] * n)]) for n in (50, 500))
    assert long < 12 * short


def test_many_stars_and_likenesses_take_linear_time():
    names = with_moves({"a*a*a*b": "never"})
    short, long = (calls(names, ["a" * n]) for n in (1_000, 100_000))
    assert long <= short + 5
