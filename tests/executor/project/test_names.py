"""Which names are never committed, which are held, and which pass."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from executor.project.rules.names import (
    CONTROL,
    NAMES,
    ROWS,
    ChangeVerdict,
    ObeyedNames,
    control_folder,
    names_after,
)

pytestmark = pytest.mark.once  # a table is the same for everyone

ROOT = Path(__file__).parents[3]
NEVER = """
.envrc sub/.envrc mise.toml .mise.local.toml .config/mise/config.toml .mise/tasks/a .vscode
.vscode/tasks.json sub/dir/.vscode/tasks.json a.code-workspace .idea/workspace.xml
.devcontainer/devcontainer.json .devcontainer.json .zed/tasks.json .mcp.json .claude/settings.json
.claude/commands/a.md .claude/hooks/x .codex/config.toml .cursor/mcp.json .gemini/settings.json
.opencode/plugin/a.ts opencode.json opencode.jsonc .qwen/settings.json crush.json
.github/hooks/a.json .ctxmode/config.toml .gdbinit .lldbinit .exrc .vimrc .nvimrc .nvim.lua
.lvimrc .dir-locals.el .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv
.kshrc .cshrc .tcshrc .pdbrc .miserc.local.toml .gitconfig .gitmodules .ssh/config .gnupg/gpg.conf
.config/autostart/a  .jj/repo/config.toml .sl/config .hg/hgrc
.hg/hgrc-not-shared .hg/sharedpath .git/hooks/pre-commit .git/config .git/config.worktree
.git/commondir .git/modules/a/HEAD .git/info/attributes .git/info/exclude .git/refs/replace/a
.git/objects/info/alternates .git/worktrees/a/commondir .git/remotes/origin venv/x/.git/hooks/a
node_modules/a/.git/config target/.git/hooks/a site-packages/a/.hg/hgrc node_modules/a/.envrc
node_modules/a/.claude/settings.json tasks.vs.json .fslckout _FOSSIL_ .vscode/node_modules/a
.cursor/rules/.vscode/tasks.json .git .git/HEAD .git/index .git/objects/ab/cdef
.git/refs/heads/main .hg/store/00changelog.i .hg/dirstate .svn/wc.db sub/.bzr/x .pijul/config
_darcs/prefs CVS/Root node_modules/a/.git
"""
HELD = """
.config/systemd/user/a.service
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
.clinerules-code .goosehints.local .mcp.yaml docker-compose.override.yml .merlin aqua.yaml
.pkgx.yaml .latexmkrc .sbtrc tools/bazel.bat .coderabbit.yaml .context-mode/CLAUDE_CONTEXT.md
.context-mode/.gitignore CODEX_CONTEXT.md sub/AIDER_CONTEXT.md .rvmrc .gitpod.yml
.windsurf/hooks.json .junie/mcp/mcp.json .kiro/hooks/a .roo/mcp.json .clinerules/hooks/a
.crush.json .amazonq/mcp.json .continue/config.yaml .factory/hooks.json .kilocode/mcp.json
.aider.conf.yml .github/copilot/settings.json .agents/a .husky/_/pre-commit .tmux.conf .screenrc
.inputrc .zprofile .zlogin .zlogout .login .config/fish/config.fish .irbrc irb.rc
.hotspot_compiler .pryrc .Rprofile .Renviron .RData .iex.exs .erlang .ghci .sbclrc .psqlrc
.sqliterc .my.cnf .ackrc .ripgreprc .hgrc .local/bin/ls .local/lib/python3.11/site-packages/a.pth
.config/git/config .ropeproject/config.py .obsidian/plugins/a/main.js .opencode.json gptme.toml
hie.yaml .lsp/config.edn .jdbrc .valgrindrc .lazy.lua app.pro.user CMakeLists.txt.user
.tern-project .elixir_ls/build/a.beam .versions.conf bin/hermit .rdebugrc .plrc conductor.json
.ruby-lsp/Gemfile sub/.metals/x .bloop/a.json .agents/AGENTS.md sub/.rules .config/nextest.toml
.unheard-of .unheard/of ... sub/.../x src/ENVRC~1 A~1.TXT node_modules/ENVRC~1 .Venv/x .CACHE/x
.GitIgnore sitecustomize/__init__.py .gradle/init.gradle .gradle/init.d/a .github/FUNDING.yml
"""
COMMITTED = """
src/main.py README.md package.json package-lock.json Makefile pyproject.toml Cargo.toml Gemfile
.dockerignore .editorconfig .prettierrc .eslintrc.js tsconfig.json .env.example .env.prod.example
docs/claude.md.txt environment.py envrc vscode/a idea.txt git/hooks/a hooks/pre-commit config
x.envrc conventions.md CONVENTIONS.md .yarn/cache/a.zip .yarn/install-state.gz .venv/bin/python
venv/lib/python3.11/site-packages/a/b.py node_modules/.bin/tsc node_modules/.package-lock.json
node_modules/a/.npmrc node_modules/a/.vscode/settings.json node_modules/a/AGENTS.md
node_modules/@a/b/.github/workflows/ci.yml node_modules/a/.travis.yml
venv/lib/python3.11/site-packages/a/.env vendor/bundle/ruby/3.2.0/gems/a/.ruby-version
target/debug/app dist/app.desktop a.desktop git~ backup~ file.~1~ sub/default.nix
pkgs/kubeconfig/a.go models/head/objects/a docker-compose.yml Procfile a.out x.in .gitignore
.gitattributes docs/cvs/john.md
"""
GIT_TRICKS = (
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
)
TRICKS = (
    ".Envrc",
    ".ENVRC",
    ".envrc.",
    ".envrc ",
    ".envrc::$DATA",
    ".e\u200bnvrc",
    ".v\u017fcode/tasks.json",
    ".VSCode/tasks.json",
    "a.Code-Workspace",
    "sub\\.vscode\\tasks.json",
    "node_modules\\a/.vscode/tasks.json",  # one folder's name, and no folder of packages
    "Node_Modules/.vscode/tasks.json",
    ".GitModules",
    "./.envrc",
    "a//.envrc",
    "a/../.envrc",
    ".../.envrc",
    ".idea/",
)
# Of what these are short is unknown.
SHORT = ("ENVRC~1", "VSCODE~1/tasks.json", "GITMOD~1", "GI7EBA~1", "CLAUDE~1.JSO", "x/RUST-T~1")
UNKNOWN = ("\ufeff.foo", "\uff0efoo/x", ".foo.", "...", ":x", ". ", ".ENV.EXAMPLE", ".Cache/x")


@pytest.mark.parametrize("path", NEVER.split())
def test_never_committed(path):
    assert verdict(path) is ChangeVerdict.NEVER


@pytest.mark.parametrize("path", HELD.split())
def test_held_for_a_person(path):
    assert verdict(path) is ChangeVerdict.HELD


@pytest.mark.parametrize("path", COMMITTED.split())
def test_committed(path):
    assert verdict(path) is None


@pytest.mark.parametrize("path", [*TRICKS, *GIT_TRICKS], ids=ascii)
def test_another_spelling_is_no_way_round(path):
    assert verdict(path) is ChangeVerdict.NEVER


@pytest.mark.parametrize("path", [*SHORT, *UNKNOWN], ids=ascii)
def test_what_is_unknown_in_any_spelling_is_held(path):
    assert verdict(path) is ChangeVerdict.HELD


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
    # What a distribution or a person put beside the library is not of Python: each start of it
    # obeys a `sitecustomize.py` there.
    own = sys.stdlib_module_names
    names = [name for name in names if name.partition("/")[0].removesuffix(".py") in own]
    assert len(names) > 200
    # Tools obey both. To a file system that ignores case the page is instructions.
    obeyed = {".github/workflows/ci.yml", ".pre-commit-config.yaml"}
    obeyed |= {name for name in here if name.startswith(".ci/")}  # nobody knows it
    stopped = {name for name in (*here, *names) if NAMES.judge(name)}
    assert stopped <= {*obeyed, "docs/agents.md"}


STOPPING = [row for row in ROWS if row.verdict is not ChangeVerdict.COMMIT]


def test_every_row_holds_its_own_name_and_all_below():
    for row in STOPPING:
        path = row.pattern.replace("*", "any").removeprefix("/")
        shapes = [path, f"{path}/deep/er", path.upper()]
        shapes += [f"sub/{path}"] * (not row.pattern.startswith("/"))
        for shape in shapes:
            found = NAMES.judge(shape)
            assert found, shape
            assert found.verdict in (row.verdict, ChangeVerdict.NEVER), shape


def test_no_row_is_there_twice_and_each_says_what_obeys_it():
    assert [name for name, n in Counter(row.pattern for row in ROWS).items() if n > 1] == []
    assert [row for row in ROWS if len(row.why) < 20] == []


def test_there_are_few_enough_to_be_read():
    also = 3  # `CVS`, a leading dot, a short name
    assert len(ROWS) + len(CONTROL) + also <= 250


def test_a_row_that_passes_is_needed():
    """Of a name without a dot only where packages lie; all others would be held without it."""
    for row in ROWS:
        if row.verdict is ChangeVerdict.COMMIT and not row.is_whole:
            assert row.pattern.startswith("."), row


# What has lost its row, and why that is no danger.
PASSES_NOW = {
    "the service or program has ended": "wercker.yml shippable.yml *.komodoproject",
    "it is opened by name, as a project, by a person": """*.ipr *.iws *.kdev4 replit.nix
        devfile.yaml""",
    "read at a home, or on another system, under that name": """pip.ini condarc mambarc gemrc
        terraform.rc gtags.conf mercurial.ini _netrc scilab.ini""",
    "read only by old versions": "husky.config.js pnpmfile.js packrat/init.R",
    "read only where a variable of the user's names it": "p4config p4config.txt p4.ini",
    "of a disk's top or of a home, where this program does not run": """autorun.inf Startup/*.bat
        Startup/*.cmd Startup/*.exe Startup/*.vbs Startup/*.ps1 Library/LaunchAgents
        Library/LaunchDaemons""",
    "a service builds by it after a push, and a review shows it": """netlify.toml vercel.json
        render.yaml amplify.yml heroku.yml buildkite.yml sweep.yaml greptile.json ellipsis.yaml""",
    "it names what is built, and no program": "elp.toml",
    "mise.lock and mise.local.lock are held": "mise*.lock",
    "npm 6 obeyed it, and packages are programs anyway": "node_modules/.hooks",
}


def test_what_was_held_or_never_committed_still_is():
    """By the list of names from before all unknown ones were held."""
    passing = {name for names in PASSES_NOW.values() for name in names.split()}
    for line in (Path(__file__).parent / "obeyed_names.txt").read_text().splitlines():
        _, pattern, *more = line.split()
        path = pattern.replace("*", "x")
        paths = [path] if "top" in more else [path, f"d/{path}"]
        assert all(map(NAMES.judge, paths)) == (pattern not in passing), pattern


# Made in a project by everyday commands: seen, or in the lists of ignored files of these tools.
EVERYDAY = {
    "npm": "node_modules/.package-lock.json node_modules/.bin/a node_modules/.cache/x",
    "yarn": """.yarn/install-state.gz .yarn/build-state.yml .yarn/cache/a.zip .pnp.cjs
        .pnp.loader.mjs .yarn/unplugged/a/node_modules/a/.npmrc node_modules/.yarn-integrity
        node_modules/.yarn-state.yml""",
    "pnpm": "node_modules/.modules.yaml node_modules/.pnpm/a@1/node_modules/a/.travis.yml",
    "bun, deno": "node_modules/.bin/a node_modules/.deno/.deno.lock",
    "cargo": """target/.rustc_info.json target/CACHEDIR.TAG target/debug/.fingerprint/a/lib-a
        target/debug/.cargo-lock .cargo/registry/src/a/.github/workflows/ci.yml""",
    "python": """.venv/pyvenv.cfg .venv/.gitignore .venv/.lock .venv/bin/python
        .venv/lib/python3/site-packages/a/.env venv/.gitignore .eggs/README.txt""",
    "pytest, coverage, mypy, ruff, tox, nox": """.pytest_cache/v/cache/nodeids .coverage
        .coverage.host.123 .mypy_cache/3.12/a.json .mypy_cache/.gitignore .ruff_cache/.gitignore
        .tox/py/bin/python .nox/tests/x .hypothesis/x .ipynb_checkpoints/a.ipynb""",
    "sphinx": "docs/_build/html/.buildinfo docs/_build/.doctrees/a html/.nojekyll",
    "make, autotools, libtool": ".deps/a.Po src/.deps/a.Po src/.libs/a.o src/.dirstamp",
    "cmake, ninja": "build/.ninja_deps build/.ninja_log build/CMakeFiles/a",
    "go": ".cache/go-build/a",
    "gradle, kotlin": """.gradle/8.5/checksums/a .gradle/buildOutputCleanup/cache.properties
        build/kotlin/a .kotlin/sessions/a""",
    "maven, dotnet": "target/classes/a obj/project.assets.json bin/Debug/net8.0/a.dll",
    "bundler, rspec, rubocop": """vendor/bundle/ruby/3.2.0/gems/a/.rspec .rspec_status
        .rubocop_todo.yml""",
    "composer, phpunit": "vendor/a/.editorconfig .phpunit.result.cache .phpunit.cache/a",
    "mix": """_build/dev/lib/a/.mix/compile.elixir deps/a/.hex deps/a/.fetch
        deps/a/.formatter.exs""",
    "stack, cabal": ".stack-work/dist/a dist-newstyle/cache/a",
    "zig, swift, dart, flutter": """.zig-cache/o/a .build/debug/a .dart_tool/package_config.json
        .flutter-plugins .flutter-plugins-dependencies""",
    "terraform": ".terraform/providers/a .terraform/modules/a/.github/x .terraform.lock.hcl",
    "next, nuxt, svelte, astro, vite, angular, parcel": """.next/BUILD_ID .next/cache/a .nuxt/a
        .output/server/a .svelte-kit/a .astro/types.d.ts .vite/deps/a dist/.vite/manifest.json
        .angular/cache/a .parcel-cache/a .turbo/a .nx/cache/a""",
    "eslint, stylelint, prettier": ".eslintcache .stylelintcache node_modules/.cache/prettier/a",
    "nyc": ".nyc_output/a",
    "a Mac": ".DS_Store sub/.DS_Store",
    "context-mode": ".contexo/a.md",
}


@pytest.mark.parametrize("tool", EVERYDAY)
def test_what_everyday_builds_make_passes(tool):
    assert [path for path in EVERYDAY[tool].split() if NAMES.judge(path)] == []


ORDINARY = """
.gitignore .gitattributes .gitkeep .editorconfig .dockerignore .npmignore .eslintrc .eslintrc.js
.eslintignore .prettierrc .prettierrc.json .prettierignore .babelrc .babelrc.json .browserslistrc
.stylelintrc .stylelintrc.json .flake8 .pylintrc .isort.cfg .coveragerc .rubocop.yml .rspec
.yamllint .yamllint.yml .markdownlint.json .clang-format .clang-tidy .rustfmt.toml .golangci.yml
.swcrc .env.example .env.sample .env.local.template
"""


def test_ordinary_source_passes():
    assert [path for path in ORDINARY.split() if NAMES.judge(path)] == []


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        (".hg/store/a", ".hg"),
        ("sub/.SVN/wc.db", "sub/.SVN"),
        ("a/.git~/x", ""),
        ("a/GIT~1/x", "a/GIT~1"),
        ("CVS/Root", "CVS"),
        ("cvs/Root", ""),
        (".fslckout", ".fslckout"),
        ("src/a", ""),
    ],
)
def test_the_folder_of_a_version_control_system_is_known(path, folder):
    assert control_folder(path) == folder


@pytest.mark.parametrize("path", [".cargo", "sub/.github", ".git", ".vscode", "mise", "a/tools"])
def test_a_link_is_judged_by_what_would_be_obeyed_through_it(path):
    assert NAMES.judge_link(path)


@pytest.mark.parametrize("path", ["src", "node_modules", "node_modules/.bin/tsc", "data", ".venv"])
def test_other_links_pass(path):
    assert NAMES.judge_link(path) is None


def test_what_a_link_leads_to_is_obeyed_as_the_link_is():
    links = [(".vscode", "conf/editor"), (".config", "dot"), (".git/hooks", "own"), ("a", "src")]
    names = NAMES.with_links(links)
    found = {
        path: row.verdict if (row := names.judge(path)) else None
        for path in (
            "conf/editor/tasks.json",
            "conf/editor",
            "conf/other",
            "dot/autostart/a",
            "src/a",
            "own/pre-commit",
            "src/main.py",
        )
    }
    assert [path for path, verdict in found.items() if verdict is ChangeVerdict.NEVER] == [
        "conf/editor/tasks.json",
        "conf/editor",
        "dot/autostart/a",
        "own/pre-commit",
    ]


def judged(moves: dict[str, str], *paths: str) -> list[str]:
    names = names_after(tuple(moves.items()))
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
    ],
    ids=str,
)
def test_a_move_that_means_nothing_is_refused(moves):
    with pytest.raises(ValueError, match=r"."):  # the words are for people
        names_after(tuple(moves.items()))


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
    names = names_after((("a*a*a*b", "never"),))
    short, long = (calls(names, ["a" * n]) for n in (1_000, 100_000))
    assert long <= short + 5
