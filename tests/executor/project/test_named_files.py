"""What programs that start by themselves are told to run is held when a run changes it."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from executor.project.rules import named_files
from executor.project.rules.named_files import NamedFiles
from executor.project.view.record import take
from tests.executor.project.viewing import FakeNames, View, python
from tests.executor.project_layout import lay_out

pytestmark = pytest.mark.view  # git is the same for everyone

PROGRAM = "#!/bin/sh\ntouch CANARY\n"
MODULE = "open('CANARY', 'w')\n"
DEADLINE_S = 30


class Way(NamedTuple):
    """How git comes to start a program of the project.

    `told` is a shell's program that tells git so, `starts` one that a person runs. Of variables of
    the person `PROJECT` stands for the project's path.
    """

    told: str
    path: str = "t/c.sh"
    starts: str = "git status"
    text: str = PROGRAM
    environment: dict[str, str] = {}  # noqa: RUF012 - never changed


def _fsmonitor(value: str) -> Way:
    return Way(f"printf '%s' '[core]\n\tfsmonitor = {value}\n' >> .git/config")


TERMINAL = "python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' %s"
EDITED = "echo more >> tracked; "
SUB = "git init -q sub && cd sub && git commit -q --allow-empty -m 1 && "
WAYS = {
    "a command": Way("git config core.fsmonitor t/c.sh"),
    "in quotes": _fsmonitor('\\"t/c.sh\\"'),
    "with an escape": _fsmonitor("t/c\\\\.sh"),
    "continued on the next line": _fsmonitor("t/\\\nc.sh"),
    "quotes in a word": _fsmonitor('t/\\"c\\".sh'),
    "behind the top": _fsmonitor("$(git rev-parse --show-toplevel)/t/c.sh"),
    "behind backticks": _fsmonitor("`pwd`/t/c.sh"),
    "behind a variable": _fsmonitor('\\"$PWD\\"/t/c.sh'),
    "behind a variable, with the project's name": Way(
        "git config core.fsmonitor '$OF/project/t/c.sh'", environment={"OF": "ABOVE"}
    ),
    "a variable inside": Way("git config alias.x '!t/$1.sh #'", starts="git x c"),
    "a glob": Way("git config alias.x '!for f in t/*.sh; do $f; done'", starts="git x"),
    "another folder": Way("git config alias.x '!cd t && ./c.sh'", starts="git x"),
    "another shell": Way("git config alias.x '!sh -c \"cd t; exec ./c.sh\"'", starts="git x"),
    "a name with a blank": Way("git config core.fsmonitor 't/a\\ b.sh'", "t/a b.sh"),
    "hooks": Way(
        "git config core.hooksPath hooks", "hooks/pre-commit", "git commit --allow-empty -m 1"
    ),
    "hooks behind a link": Way(
        "ln -s t/own hooks; git config core.hooksPath hooks",
        "t/own/pre-commit",
        "git commit --allow-empty -m 1",
    ),
    "a filter that is a module": Way(
        "git config filter.s.clean 'python3 -m stripper'; echo '*.txt filter=s' > .gitattributes",
        "stripper.py",
        "git add a.txt",
        MODULE,
    ),
    "a module of a package": Way(
        "git config filter.s.clean 'python3 -m tools.stripper';"
        " echo '*.txt filter=s' > .gitattributes",
        "tools/stripper/__main__.py",
        "git add a.txt",
        MODULE,
    ),
    "a folder of PATH": Way(
        "git config core.fsmonitor mon", "bin/mon", environment={"PATH": "./bin:PATH"}
    ),
    "a command of git in a folder of PATH": Way(
        "git config alias.x mine", "bin/git-mine", "git x", environment={"PATH": "./bin:PATH"}
    ),
    "diff.external": Way("git config diff.external t/c.sh", starts=f"{EDITED} git diff"),
    "textconv": Way(
        "git config diff.x.textconv t/c.sh; echo 'tracked diff=x' > .gitattributes",
        starts=f"{EDITED} git diff",
    ),
    "diff.x.command": Way(
        "git config diff.x.command t/c.sh; echo 'tracked diff=x' > .gitattributes",
        starts=f"{EDITED} git diff",
    ),
    "smudge": Way(
        "git config filter.s.smudge t/c.sh; echo 'tracked filter=s' > .gitattributes",
        starts="rm tracked; git checkout tracked",
    ),
    "process": Way(
        "git config filter.s.process t/c.sh; echo 'a.txt filter=s' > .gitattributes",
        starts="git add a.txt",
    ),
    "interactive.diffFilter": Way(
        "git config interactive.diffFilter t/c.sh",
        starts=f"{EDITED} (echo q; sleep 4) | {TERMINAL % 'git add -p'}",
    ),
    "pager": Way("git config pager.log t/c.sh", starts=TERMINAL % "git log"),
    "core.sshCommand": Way(
        "git config core.sshCommand t/c.sh", starts="git ls-remote ssh://x.invalid/y"
    ),
    "core.gitProxy": Way(
        "git config core.gitProxy t/c.sh", starts="git ls-remote git://x.invalid/y"
    ),
    "a command in a key": Way(
        "git config url.'ext::t/c.sh '.insteadOf x:; git config protocol.ext.allow always",
        starts="git ls-remote x:y",
    ),
    "uploadpack": Way(
        "git config remote.o.url ./; git config remote.o.uploadpack t/c.sh",
        starts="git ls-remote o",
    ),
    "editor": Way("git config core.editor t/c.sh", starts="git commit --allow-empty"),
    "sequence.editor": Way(
        "git config sequence.editor t/c.sh",
        starts="git commit --allow-empty -qm 2; git rebase -i HEAD~1",
    ),
    "credential.helper": Way(
        "git config credential.helper '!t/c.sh'",
        starts="echo url=https://x.invalid | git credential fill",
    ),
    "gpg.program": Way("git config gpg.program t/c.sh", starts="git commit -S --allow-empty -m 1"),
    "trailer": Way(
        "git config trailer.x.cmd t/c.sh", starts="echo | git interpret-trailers --trailer x=1"
    ),
    "difftool": Way("git config difftool.x.cmd t/c.sh", starts=f"{EDITED} git difftool -y -t x"),
    "the user's own settings": Way("git config --global core.fsmonitor t/c.sh"),
    "settings of XDG_CONFIG_HOME": Way(
        'cd "$XDG_CONFIG_HOME"; mkdir git; git config -f git/config core.fsmonitor t/c.sh',
        environment={"XDG_CONFIG_HOME": "ABOVE/home"},
    ),
    "variables": Way(
        "true",
        environment={
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.fsmonitor",
            "GIT_CONFIG_VALUE_0": "t/c.sh",
        },
    ),
    "GIT_SSH_COMMAND": Way(
        "true", starts="git ls-remote ssh://x.invalid/y", environment={"GIT_SSH_COMMAND": "t/c.sh"}
    ),
    "an include": Way(
        "mkdir t; git config include.path ../t/more;git config -f t/more core.fsmonitor t/c.sh"
    ),
    "an include of another branch": Way(
        "git config includeIf.onbranch:other.path ../more;"
        " git config -f more core.fsmonitor t/c.sh",
        starts="git switch -qc other; git status",
    ),
    "a nested repository": Way(
        f"{SUB} git config core.fsmonitor ./c.sh", "sub/c.sh", "cd sub; git status"
    ),
    "hooks of a nested repository": Way(
        f"{SUB} git config core.hooksPath ../t",
        "t/pre-commit",
        "cd sub; git commit --allow-empty -m 1",
    ),
    "a linked worktree": Way(
        "git config core.fsmonitor ./c.sh; git worktree add -q tree",
        "tree/c.sh",
        "cd tree; git status",
    ),
    "a submodule": Way(
        "git init -q ../o; git -C ../o commit -q --allow-empty -m 1; git submodule -q add ../o sub;"
        " git -C sub config core.fsmonitor ./c.sh",
        "sub/c.sh",
        "cd sub; git status",
    ),
    "a submodule's update": Way(
        "git init -q ../o; git -C ../o commit -q --allow-empty -m 1; git submodule -q add ../o sub;"
        " git commit -qm 2; git -C sub commit -q --allow-empty -m 2;"
        " git config submodule.sub.update '!../t/c.sh'",
        starts="git submodule update",
    ),
    "a bare repository": Way(
        "git init -q --bare b.git; git -C b.git config core.hooksPath ../t",
        "t/update",
        "git push -q b.git HEAD:x",
    ),
    "a link from the person's own programs": Way(
        'mkdir -p t "$HOME/bin"; echo > t/c.sh; chmod +x t/c.sh;'
        ' ln -s "$PWD/t/c.sh" "$HOME/bin/mine"; git config core.fsmonitor mine',
        environment={"PATH": "ABOVE/home/bin:PATH"},
    ),
    "a link from elsewhere": Way(
        'ln -s "$PWD/t" "$HOME/t"; git config core.fsmonitor ~/t/c.sh',
    ),
    "a link to what is started": Way("ln -s t own; git config core.fsmonitor own/c.sh"),
}


@pytest.fixture
def person(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run a shell's program as a person with a home of his own, in a repository of the project."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.gitconfig").write_text(
        '[user]\n\tname = t\n\temail = t@example.com\n[protocol "file"]\n\tallow = always\n'
        "[init]\n\tdefaultBranch = main\n"
    )

    def run(script: str, folder: Path = project) -> None:
        command = ["bash", "--norc", "-c", script]
        subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE_S,
            check=False,
        )  # fmt: skip

    run("git init -q; echo 1 > tracked; git add tracked; git commit -qm 1")
    return run


def why(project: Path, path: str) -> str:
    return NamedFiles(take(project, ())).why_named(path)


def write_program(path: Path, text: str, canary: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("CANARY", str(canary)))
    path.chmod(0o755)


@pytest.mark.parametrize("name", WAYS)
def test_what_git_starts_is_held(project: Path, tmp_path: Path, person, monkeypatch, name: str):
    way = WAYS[name]
    assert not why(project, way.path), "the control: git is not told yet"
    for variable, text in way.environment.items():
        value = text.replace("ABOVE", str(tmp_path)).replace("PATH", os.environ["PATH"])
        monkeypatch.setenv(variable, value)
    person(way.told)
    named = why(project, way.path)
    write_program(project / way.path, way.text, tmp_path / "canary")
    person(way.starts)
    assert (tmp_path / "canary").exists(), "the control: git does not start it"
    assert named
    assert why(project, way.path)
    assert not why(project, "src/main.c")


def test_a_key_that_nobody_knows_yet_holds_too(project: Path, person):
    person("git config future.tool 'run --with t/c.sh'; git config future.lone own")
    assert why(project, "t/c.sh")
    assert why(project, "own/below")
    assert not why(project, "run/below")


@pytest.mark.parametrize("name", ["more", "t/own.conf"])
def test_files_of_the_project_that_git_reads_are_held(project: Path, person, name: str):
    lay_out(project, "t/own.conf", "link")
    (project / "link").unlink()
    (project / "link").symlink_to("t/own.conf")
    (project / "t/own.conf").write_text("[user]\n\tname = t\n")
    assert not why(project, name)
    person("git config include.path ../link; git config --add include.path ../more")
    assert why(project, name)


def test_a_project_may_be_a_folder_of_a_repository(tmp_path: Path, person):
    above = tmp_path / "above"
    (above / "sub/project").mkdir(parents=True)
    person("git init -q; git config core.hooksPath sub/project/hooks", above)
    person("git config core.fsmonitor ./t/c.sh", above)
    assert why(above / "sub/project", "hooks/pre-commit")
    assert why(above, "t/c.sh")


def test_so_may_what_links_lead_to(project: Path, person):
    """A link where a folder is named would put other files in its place."""
    person("git config core.fsmonitor t/u/c.sh")
    assert why(project, "t/u")
    assert why(project, "t")
    assert not why(project, "u")


def test_a_link_that_leads_out_may_not_become_a_folder(project: Path, tmp_path: Path, person):
    (project / "out").symlink_to(tmp_path)
    assert not why(project, "out")
    person("git config core.fsmonitor out/c.sh")
    assert why(project, "out")
    assert why(project, "out/c.sh")


# What is in a file that a tool obeys, what it names, and what it does not.
FILES = {
    ".mcp.json": (
        '{"mcpServers": {"x": {"command": "node", "args": ["dist/server.js"]},'
        ' "y": {"command": "python3", "args": ["-m", "own.server"]},'
        ' "z": {"command": "./run.sh", "cwd": "docs"}}}',
        ["dist/server.js", "own/server.py", "own/server/__main__.py", "run.sh", "own/__init__.py"],
        ["dist/other.js", "src/main.c", "own/other.py", "node", "docs/one.md"],
    ),
    ".claude/settings.json": (
        '{"hooks": {"Stop": [{"hooks": [{"type": "command",'
        ' "command": "\\"$CLAUDE_PROJECT_DIR\\"/t/check.py --all"}]}]},'
        ' "permissions": {"allow": ["Bash(./run.sh:*)", "Edit(src/main.c)", "Read(./docs/**)"]}}',
        ["t/check.py", "run.sh"],
        ["src/main.c", "docs/one.md", "t/other.py"],
    ),
    ".codex/config.toml": (
        '[mcp_servers.x]\ncommand = "python3"\nargs = ["t/server.py"]\n',
        ["t/server.py"],
        ["src/main.c"],
    ),
    ".vscode/tasks.json": (
        '{ // a comment, "with" a quote"\n "tasks": [{"command": "${workspaceFolder}/t/b.sh"},],}',
        ["t/b.sh"],
        ["src/main.c", "t/other.sh"],
    ),
    ".vscode/settings.json": (
        '{"files.exclude": {"src/main.c": true}, "x.path": "./t/lint", "y": ["src", "a.txt"],'
        ' "explorer.fileNesting.patterns": {"package.json": "package-lock.json, yarn.lock"},'
        ' "search.include": "src/**/*.c", "z": "docs/one.md"}',
        ["t/lint"],
        ["src/main.c", "a.txt", "package-lock.json", "docs/one.md", "src/deep/y.txt"],
    ),
    "sub/.envrc": (
        "source_env ../conf\nPATH_add bin\nexport X=docs\nwatch_file src/main.c.in\n",
        ["conf/rc", "sub/bin/tool"],
        ["docs/one.md", "src/main.c", "bin/tool", "sub/other"],
    ),
    ".pre-commit-config.yaml": (
        "exclude: ^docs/\nrepos:\n- repo: local\n  hooks:\n  - id: own\n"
        "    name: look at src/main.c\n    entry: python t/own.py --config=a.txt\n"
        "    files: \\.c$\n    exclude: |\n      (?x)^(\n        src/deep/er/x|\n"
        "        run.sh\n      )$\n    args: [-c, pyproject.toml]\n",
        ["t/own.py"],
        [
            "docs/one.md",
            "src/main.c",
            "run.sh",
            "src/deep/er/x",
            "pyproject.toml",
            "a.txt",
            "own.py",
        ],
    ),
    "lefthook.yml": (
        'pre-commit:\n  commands:\n    x:\n      glob: "src/main.c"\n'
        "      run: t/l.sh {staged_files}\n",
        ["t/l.sh"],
        ["src/main.c"],
    ),
    ".husky/pre-commit": (
        "#!/bin/sh\n# see src/main.c\nnpx prettier --write src/**/*.c\ncd t && ./h.sh\n",
        ["t/h.sh"],
        ["src/main.c", "src/deep/y.txt"],
    ),
    "mise.toml": (
        '[env]\n_.path = ["./bin"]\n_.source = "t/env.sh"\n[tasks.x]\nrun = "python t/x.py"\n'
        'sources = ["src/**/*.c"]\n',
        ["bin/tool", "t/env.sh", "t/x.py"],
        ["src/main.c"],
    ),
    ".idea/runConfigurations/x.xml": (
        '<option name="SCRIPT_NAME" value="$PROJECT_DIR$/t/x.py" />',
        ["t/x.py"],
        ["src/main.c"],
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_what_settings_of_other_tools_start_is_held(project: Path, name: str):
    text, named, free = FILES[name]
    for path in named:
        assert not why(project, path), "the control"
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(text)
    assert [path for path in named if not why(project, path)] == []
    assert [path for path in free if why(project, path)] == []


@pytest.mark.parametrize("folder", ["node_modules/x", "lib/site-packages/x"])
def test_settings_that_packages_bring_are_not_obeyed(project: Path, folder: str):
    lay_out(project, f"{folder}/.husky/", f"{folder}/.vscode/")
    (project / folder / ".husky/pre-commit").write_text("./t/c.sh")
    assert not why(project, f"{folder}/t/c.sh")


HARMLESS = """
user.name=src docs
user.signingkey=docs
init.defaultBranch=src
branch.main.remote=docs
branch.main.merge=refs/heads/src
remote.docs.url=git@example.com:src/docs.git
remote.docs.fetch=+refs/heads/*:refs/remotes/docs/*
submodule.src.url=../src
submodule.src.active=true
core.worktree=../src
core.editor=env
core.pager=less -R
core.quotePath=false
core.autocrlf=input
color.diff.meta=blue
credential.helper=store
credential.https://x.helper=src
merge.tool=src
merge.conflictStyle=diff3
diff.algorithm=histogram
push.default=current
safe.directory=PROJECT/src
maintenance.repo=PROJECT/src
gui.recentRepo=PROJECT/docs
alias.st=status -sb
alias.src=log --graph src
alias.co=checkout
alias.undo=!git reset HEAD~1 && git log main docs
pull.rebase=true
filter.lfs.clean=git-lfs clean -- %f
"""


def test_settings_that_start_nothing_of_the_project_hold_nothing(project: Path, person):
    lay_out(project, "main.go", "test.py", "store/x", "status/x", "package.json", "env/x")
    for line in HARMLESS.replace("PROJECT", str(project)).split("\n")[1:-1]:
        key, _, value = line.partition("=")
        person(f"git config --add '{key}' '{value}'")
    paths = [path for path, state in take(project, ()).states.items() if stat.S_ISREG(state.mode)]
    paths = [path for path in paths if not path.startswith(".git")]
    named = NamedFiles(take(project, ()))
    assert [path for path in paths if named.why_named(path)] == []
    assert [
        path for path in ("new.sh", "hooks/pre-commit", " ", "...", ". /x") if named.why_named(path)
    ] == []
    person("git config core.hooksPath src")
    assert why(project, "src/main.c"), "the control"


@pytest.mark.parametrize("told", ["printf '[core' >> .git/config", "ln -sf /dev/zero .git/config"])
def test_where_git_fails_all_is_held(project: Path, person, monkeypatch, told: str):
    monkeypatch.setattr(named_files, "BOUNDS", (0.5, 1 << 16))
    assert not why(project, "src/main.c")
    person(told)
    assert "cannot read git's configuration" in why(project, "src/main.c")


def test_where_it_fails_in_a_folder_all_below_is_held(project: Path, person):
    person(f"{SUB} printf '[core' >> .git/config")
    assert why(project, "sub/new")
    assert not why(project, "src/main.c")


@pytest.mark.parametrize("text", ["gitdir: /nowhere", "junk"])
def test_where_git_refuses_to_work_nothing_is_held(project: Path, text: str):
    lay_out(project, "sub/")
    (project / "sub/.git").write_text(text)
    assert not why(project, "sub/new")


def test_too_many_words_hold_all(project: Path, person):
    person("git config future.tool '1 2 3 4 5 6 7 8 9'")
    assert not why(project, "src/main.c")
    assert "too large" in NamedFiles(take(project, ()), _left=8).why_named("src/main.c")


def test_nothing_is_started_by_asking(project: Path, tmp_path: Path, person):
    """Of what git can be told to start, all at once: the question starts none of it."""
    canary = tmp_path / "canary"
    write_program(project / "t/c.sh", PROGRAM, canary)
    write_program(project / "hooks/post-index-change", PROGRAM, canary)
    for key in ("core.fsmonitor", "core.pager", "pager.config", "diff.external", "core.sshCommand",
                "core.askPass", "core.editor", "credential.helper", "alias.config"):  # fmt: skip
        person(f"git config {key} '{project}/t/c.sh'")
    person(f"git config core.hooksPath {project}/hooks")
    canary.unlink(missing_ok=True)
    assert why(project, "t/c.sh")
    assert not canary.exists()
    person("git status")
    assert canary.exists(), "the control"


@pytest.mark.once
def test_a_commit_holds_what_git_starts_and_a_person_may_take_it(view: View, person):
    person("git config core.fsmonitor t/c.sh")
    view.begin()
    view.run(*python("os.mkdir('t')\nfor n in ('c.sh', 'd.sh'): open(f't/{n}', 'w').write('own')"))
    done = view.commit()
    assert [(left.path, left.kind) for left in done.left_out] == [("t/c.sh", "held")]
    assert "core.fsmonitor" in done.left_out[0].reason
    assert not (view.project / "t/c.sh").exists()
    assert (view.project / "t/d.sh").exists()
    view.store.apply(done.id, names=FakeNames())
    assert (view.project / "t/c.sh").read_text() == "own"
